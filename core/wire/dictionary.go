package wire

// Dictionary carries the text that bodies refer to. Every reader of the resource
// is sent it, so no byte of it may come from an object. It is sent once per
// connection, before the first schema that names it.
type Dictionary struct {
	ID   uint32 // not zero
	Data []byte
}

// Append writes the whole frame.
func (f *Dictionary) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeDictionary)
	dst = appendUvarint(dst, uint64(f.ID))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse reads the payload.
func (f *Dictionary) Parse(payload []byte) error {
	r := reader{b: payload}
	f.ID = r.uint32()
	f.Data = r.bytes()
	return r.done("Dictionary")
}
