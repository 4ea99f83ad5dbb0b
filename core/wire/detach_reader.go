package wire

// DetachReader removes an attached reader. The program sends DetachReader when the
// connection of the reader has closed, or to stop serving the reader.
type DetachReader struct {
	Reader uint32
}

// Append appends the frame to dst.
func (f *DetachReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeDetachReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *DetachReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	return r.done("DetachReader")
}
