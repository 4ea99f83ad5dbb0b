package wire

// GrantReader reports that the connection of an attached reader accepts more
// bytes.
type GrantReader struct {
	Reader uint32
	Bytes  uint64
}

// Append writes the whole frame.
func (f *GrantReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeGrantReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendUvarint(dst, f.Bytes)
	return end(dst, start)
}

// Parse reads the payload.
func (f *GrantReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Bytes = r.uvarint()
	return r.done("GrantReader")
}
