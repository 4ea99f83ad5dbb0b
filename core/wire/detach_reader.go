package wire

// DetachReader removes an attached reader. The program sends it when the reader's
// connection has closed, or when it no longer wants to serve the reader.
type DetachReader struct {
	Reader uint32
}

// Append writes the whole frame.
func (f *DetachReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeDetachReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	return end(dst, start)
}

// Parse reads the payload.
func (f *DetachReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	return r.done("DetachReader")
}
