package wire

// MoveView moves the window of a view and replaces the anchor of the view.
type MoveView struct {
	View   uint32
	Offset uint32
	Limit  uint32
	Anchor string // as in OpenView
	Before uint32
}

// Append appends the frame to dst.
func (f *MoveView) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeMoveView)
	dst = appendUvarint(dst, uint64(f.View))
	dst = appendUvarint(dst, uint64(f.Offset))
	dst = appendUvarint(dst, uint64(f.Limit))
	dst = appendUvarint(appendBytes(dst, f.Anchor), uint64(f.Before))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *MoveView) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	f.Offset = r.uint32()
	f.Limit = r.uint32()
	f.Anchor, f.Before = r.string(), r.uint32()
	return r.done("MoveView")
}
