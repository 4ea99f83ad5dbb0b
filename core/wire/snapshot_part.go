package wire

import "github.com/watchglass/watchglass/core/api"

// SnapshotPart contains some objects of a snapshot, in ascending key order across
// all parts.
type SnapshotPart struct {
	Subscription uint32
	Objects      []Change
}

// Append appends the frame to dst.
func (f *SnapshotPart) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotPart)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(len(f.Objects)))
	for i := range f.Objects {
		dst = appendUvarint(dst, uint64(f.Objects[i].ResourceVersion))
		dst = appendContent(dst, &f.Objects[i])
	}
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SnapshotPart) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Objects = grow(f.Objects, r.count(1+minContent))
	for i := range f.Objects {
		c := &f.Objects[i]
		*c = Change{Type: api.Added, ResourceVersion: r.rv()}
		r.content(c)
	}
	return r.done("SnapshotPart")
}
