package wire

// ReaderMessage is a message from an attached reader.
type ReaderMessage struct {
	Reader uint32
	Data   []byte
}

// Append appends the frame to dst.
func (f *ReaderMessage) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeReaderMessage)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ReaderMessage) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Data = r.bytes()
	return r.done("ReaderMessage")
}
