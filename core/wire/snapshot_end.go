package wire

import "github.com/watchglass/watchglass/core/api"

// SnapshotEnd completes a snapshot. The snapshot and its Events are now the exact state
// at ResourceVersion.
type SnapshotEnd struct {
	Subscription    uint32
	ResourceVersion api.ResourceVersion
}

// Append writes the whole frame.
func (f *SnapshotEnd) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotEnd)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	return end(dst, start)
}

// Parse reads the payload.
func (f *SnapshotEnd) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.ResourceVersion = r.rv()
	return r.done("SnapshotEnd")
}
