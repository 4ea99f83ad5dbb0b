package wire

// StreamClosed reports that a stream was closed or could not be opened.
type StreamClosed struct {
	Stream  uint32
	Message string // the reason, for humans; empty at the end of a complete [Fetch]
}

// Append appends the frame to dst.
func (f *StreamClosed) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeStreamClosed)
	dst = appendUvarint(dst, uint64(f.Stream))
	dst = appendBytes(dst, f.Message)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *StreamClosed) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	f.Message = r.string()
	return r.done("StreamClosed")
}
