package wire

// CloseView ends a view.
type CloseView struct {
	View uint32
}

// Append writes the whole frame.
func (f *CloseView) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCloseView)
	dst = appendUvarint(dst, uint64(f.View))
	return end(dst, start)
}

// Parse reads the payload.
func (f *CloseView) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	return r.done("CloseView")
}
