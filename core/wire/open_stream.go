package wire

// OpenStream asks the program to connect. The response is [StreamOpened] or
// [StreamClosed].
type OpenStream struct {
	Stream uint32
}

// Append writes the whole frame.
func (f *OpenStream) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeOpenStream)
	dst = appendUvarint(dst, uint64(f.Stream))
	return end(dst, start)
}

// Parse reads the payload.
func (f *OpenStream) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	return r.done("OpenStream")
}
