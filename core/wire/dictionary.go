package wire

// Dictionary carries the text that compressed bodies refer to. Every reader of the
// resource receives this text, so the text must not contain data from objects. The
// connector sends it once per connection, before the first schema that refers to it.
type Dictionary struct {
	ID   uint32 // not zero
	Data []byte
}

// Append appends the frame to dst.
func (f *Dictionary) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeDictionary)
	dst = appendUvarint(dst, uint64(f.ID))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Dictionary) Parse(payload []byte) error {
	r := reader{b: payload}
	f.ID = r.uint32()
	f.Data = r.bytes()
	return r.done("Dictionary")
}
