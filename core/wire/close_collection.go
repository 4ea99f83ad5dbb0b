package wire

// CloseCollection closes a collection with its watches and views.
type CloseCollection struct {
	Collection uint32
}

// Append appends the frame to dst.
func (f *CloseCollection) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCloseCollection)
	dst = appendUvarint(dst, uint64(f.Collection))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *CloseCollection) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Collection = r.uint32()
	return r.done("CloseCollection")
}
