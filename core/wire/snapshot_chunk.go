package wire

import "github.com/watchglass/watchglass/core/api"

// SnapshotChunk is a response to [TakeSnapshot]. Once the last chunk has arrived, the
// chunks of a complete state replace those that the program has persisted. Chunks of
// changes are added to the persisted ones.
type SnapshotChunk struct {
	Request         uint32
	Whole           bool // the chunk is part of a complete state; otherwise, of changes
	Last            bool
	ResourceVersion api.ResourceVersion // in the last chunk: the version of the snapshot
	ClusterID       string              // the cluster ID of that version
	Data            []byte              // a Chunk, followed by its body
}

// Append appends the frame to dst.
func (f *SnapshotChunk) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotChunk)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendBool(dst, f.Whole)
	dst = appendBool(dst, f.Last)
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendBytes(dst, f.ClusterID)
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SnapshotChunk) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Whole = r.bool()
	f.Last = r.bool()
	f.ResourceVersion = r.rv()
	f.ClusterID = r.string()
	f.Data = r.bytes()
	return r.done("SnapshotChunk")
}
