package wire

// ObjectReply is the response to [Get] and [GetObject].
type ObjectReply struct {
	Request uint32
	Item    Item
}

// Append appends the frame to dst.
func (f *ObjectReply) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeObjectReply)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendItem(dst, &f.Item)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ObjectReply) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	r.item(&f.Item)
	return r.done("ObjectReply")
}
