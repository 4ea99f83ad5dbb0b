package wire

// GrantReader reports that the connection of an attached reader accepts more
// bytes.
type GrantReader struct {
	Reader uint32
	Bytes  uint64
}

// Append appends the frame to dst.
func (f *GrantReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeGrantReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendUvarint(dst, f.Bytes)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *GrantReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Bytes = r.uvarint()
	return r.done("GrantReader")
}
