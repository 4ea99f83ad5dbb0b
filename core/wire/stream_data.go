package wire

// StreamData passes one whole message of a stream to the engine.
type StreamData struct {
	Stream uint32
	Data   []byte // whole frames
}

// Append appends the frame to dst.
func (f *StreamData) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeStreamData)
	dst = appendUvarint(dst, uint64(f.Stream))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *StreamData) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	f.Data = r.bytes()
	return r.done("StreamData")
}
