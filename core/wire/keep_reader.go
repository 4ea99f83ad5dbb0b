package wire

// KeepReader requests the state that another engine needs to continue with an
// attached reader. The response is [KeptReader].
type KeepReader struct {
	Reader uint32
}

// Append writes the whole frame.
func (f *KeepReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeKeepReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	return end(dst, start)
}

// Parse reads the payload.
func (f *KeepReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	return r.done("KeepReader")
}
