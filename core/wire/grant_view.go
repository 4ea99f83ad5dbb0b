package wire

// GrantView allows a view its next [ViewPatch]. A view that was opened has the
// first. The program sends it for each patch that it has applied, so that of a
// program that does not run at most one patch waits. A view that has a grant
// ignores another.
type GrantView struct {
	View uint32
}

// Append writes the whole frame.
func (f *GrantView) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeGrantView)
	dst = appendUvarint(dst, uint64(f.View))
	return end(dst, start)
}

// Parse reads the payload.
func (f *GrantView) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	return r.done("GrantView")
}
