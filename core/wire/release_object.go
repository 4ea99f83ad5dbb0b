package wire

// ReleaseObject releases a reference that [AcquireObject] has added. The engine ignores
// unknown handles.
type ReleaseObject struct {
	Handle uint32
}

// Append appends the frame to dst.
func (f *ReleaseObject) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeReleaseObject)
	dst = appendUvarint(dst, uint64(f.Handle))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ReleaseObject) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Handle = r.uint32()
	return r.done("ReleaseObject")
}
