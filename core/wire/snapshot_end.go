package wire

import "github.com/watchglass/watchglass/core/api"

// SnapshotEnd completes a snapshot. Together, the snapshot and the Events since
// SnapshotBegin are the exact state at ResourceVersion.
type SnapshotEnd struct {
	Subscription    uint32
	ResourceVersion api.ResourceVersion
}

// Append appends the frame to dst.
func (f *SnapshotEnd) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotEnd)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SnapshotEnd) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.ResourceVersion = r.rv()
	return r.done("SnapshotEnd")
}
