package wire

// CloseStream asks the program to close a stream. The engine does not wait for a
// response.
type CloseStream struct {
	Stream  uint32
	Message string // the reason, for humans
}

// Append appends the frame to dst.
func (f *CloseStream) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCloseStream)
	dst = appendUvarint(dst, uint64(f.Stream))
	dst = appendBytes(dst, f.Message)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *CloseStream) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	f.Message = r.string()
	return r.done("CloseStream")
}
