package wire

// KeptReader is the response to [KeepReader]. The data is for [AttachReader], and
// is valid until the next message from or to the reader.
type KeptReader struct {
	Reader uint32
	Data   []byte
}

// Append writes the whole frame.
func (f *KeptReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeKeptReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse reads the payload.
func (f *KeptReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Data = r.bytes()
	return r.done("KeptReader")
}
