package wire

// SaveReader requests the state that another engine needs to continue serving an attached
// reader. The response is [SavedReader].
type SaveReader struct {
	Reader uint32
}

// Append appends the frame to dst.
func (f *SaveReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSaveReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SaveReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	return r.done("SaveReader")
}
