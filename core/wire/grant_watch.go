package wire

// GrantWatch allows a watch that was opened with Credit to deliver the given number of
// further events.
type GrantWatch struct {
	Watch  uint32
	Events uint32
}

// Append appends the frame to dst.
func (f *GrantWatch) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeGrantWatch)
	dst = appendUvarint(dst, uint64(f.Watch))
	dst = appendUvarint(dst, uint64(f.Events))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *GrantWatch) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Watch = r.uint32()
	f.Events = r.uint32()
	return r.done("GrantWatch")
}
