package wire

// OpenStream asks the program to open a connection to the connector. The response is
// [StreamOpened] or [StreamClosed].
type OpenStream struct {
	Stream uint32
}

// Append appends the frame to dst.
func (f *OpenStream) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeOpenStream)
	dst = appendUvarint(dst, uint64(f.Stream))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *OpenStream) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	return r.done("OpenStream")
}
