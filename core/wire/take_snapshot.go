package wire

import "github.com/watchglass/watchglass/core/api"

// TakeSnapshot requests the state of an open collection for persistence. The response
// contains the changes since the version that the program has. It contains the complete
// state if the program has no version, an evicted version, or a version of a different
// cluster. The response is a sequence of [SnapshotChunk] frames. TakeSnapshot requests
// the first frame, and [NextChunk] requests each further one. An [ErrorReply], which may
// arrive at any time, invalidates all chunks of the snapshot.
type TakeSnapshot struct {
	Request         uint32
	Collection      uint32
	ResourceVersion api.ResourceVersion // the version that the program has; zero for none
	ClusterID       string              // the cluster ID of that version
	ChunkBytes      uint32              // approximate chunk size; zero means 256 KiB, at most 1 MiB
}

// Append appends the frame to dst.
func (f *TakeSnapshot) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeTakeSnapshot)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendBytes(dst, f.ClusterID)
	dst = appendUvarint(dst, uint64(f.ChunkBytes))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *TakeSnapshot) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Collection = r.uint32()
	f.ResourceVersion = r.rv()
	f.ClusterID = r.string()
	f.ChunkBytes = r.uint32()
	return r.done("TakeSnapshot")
}
