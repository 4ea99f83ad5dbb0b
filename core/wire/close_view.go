package wire

// CloseView ends a view.
type CloseView struct {
	View uint32
}

// Append appends the frame to dst.
func (f *CloseView) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCloseView)
	dst = appendUvarint(dst, uint64(f.View))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *CloseView) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	return r.done("CloseView")
}
