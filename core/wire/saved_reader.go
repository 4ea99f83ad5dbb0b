package wire

// SavedReader is the response to [SaveReader]. Data is the value for the field Saved of
// [AttachReader], and is valid until the next message from or to the reader.
type SavedReader struct {
	Reader uint32
	Data   []byte
}

// Append appends the frame to dst.
func (f *SavedReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSavedReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SavedReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Data = r.bytes()
	return r.done("SavedReader")
}
