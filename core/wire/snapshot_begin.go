package wire

import "github.com/watchglass/watchglass/core/api"

// SnapshotBegin starts the snapshot of a subscription, or continues an interrupted one.
// Parts follow in key order. The [Events] before a part contain all changes to the keys
// of earlier parts. The earlier parts are therefore exact as of the last version that was
// sent. In persisted state the Events follow the last part. [SnapshotEnd] completes the
// state. Until then, a reader keeps its previous state.
type SnapshotBegin struct {
	Subscription    uint32
	ResourceVersion api.ResourceVersion
	Total           uint64 // estimated number of objects, for progress bars
	Continues       bool   // objects before SnapshotFrom of the [Subscribe] are not sent again
}

// Append appends the frame to dst.
func (f *SnapshotBegin) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotBegin)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendUvarint(dst, f.Total)
	dst = appendBool(dst, f.Continues)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SnapshotBegin) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.ResourceVersion = r.rv()
	f.Total = r.uvarint()
	f.Continues = r.bool()
	return r.done("SnapshotBegin")
}
