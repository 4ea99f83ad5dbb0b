package wire

// CloseWatch ends a watch. The engine delivers no further events.
type CloseWatch struct {
	Watch uint32
}

// Append appends the frame to dst.
func (f *CloseWatch) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCloseWatch)
	dst = appendUvarint(dst, uint64(f.Watch))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *CloseWatch) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Watch = r.uint32()
	return r.done("CloseWatch")
}
