package wire

// GrantWatch allows a watch with credit to deliver the given number of further
// events.
type GrantWatch struct {
	Watch  uint32
	Events uint32
}

// Append writes the whole frame.
func (f *GrantWatch) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeGrantWatch)
	dst = appendUvarint(dst, uint64(f.Watch))
	dst = appendUvarint(dst, uint64(f.Events))
	return end(dst, start)
}

// Parse reads the payload.
func (f *GrantWatch) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Watch = r.uint32()
	f.Events = r.uint32()
	return r.done("GrantWatch")
}
