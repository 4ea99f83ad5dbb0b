package wire

import "github.com/watchglass/watchglass/core/api"

// SnapshotBegin starts the state of a subscription. The connector reads its store
// while the store changes: parts may be newer than ResourceVersion, and the
// changes after ResourceVersion follow as [Events]. At [SnapshotEnd] the result
// is exact. Until then a reader keeps its previous state.
type SnapshotBegin struct {
	Subscription    uint32
	ResourceVersion api.ResourceVersion
	Total           uint64 // estimated number of objects, for progress bars
}

// Append writes the whole frame.
func (f *SnapshotBegin) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotBegin)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendUvarint(dst, f.Total)
	return end(dst, start)
}

// Parse reads the payload.
func (f *SnapshotBegin) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.ResourceVersion = r.rv()
	f.Total = r.uvarint()
	return r.done("SnapshotBegin")
}
