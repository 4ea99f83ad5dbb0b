package wire

// GrantView allows the next [ViewPatch] of a view. A view starts with one grant. The
// program sends a grant for each patch that it has applied, so at most one patch is
// queued while the program is suspended. A grant for a view with an unused grant has no
// effect.
type GrantView struct {
	View uint32
}

// Append appends the frame to dst.
func (f *GrantView) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeGrantView)
	dst = appendUvarint(dst, uint64(f.View))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *GrantView) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	return r.done("GrantView")
}
