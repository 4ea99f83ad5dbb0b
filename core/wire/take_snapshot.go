package wire

import "github.com/watchglass/watchglass/core/api"

// TakeSnapshot asks for the state of an open collection, for the program to
// keep: what changed since a version that it has kept, or the whole state when
// it has none, or one of another source or from too long ago. Answered by
// [SnapshotChunk], of which each but the first is asked for with [NextChunk], or
// by an [ErrorReply], also in the middle: what came before it is then of no use.
type TakeSnapshot struct {
	Request         uint32
	Collection      uint32
	ResourceVersion api.ResourceVersion // kept until here; zero for nothing
	Source          string              // of that version
	ChunkBytes      uint32              // the size of a chunk, roughly; zero for 256 KiB, at most 1 MiB
}

// Append writes the whole frame.
func (f *TakeSnapshot) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeTakeSnapshot)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendBytes(dst, f.Source)
	dst = appendUvarint(dst, uint64(f.ChunkBytes))
	return end(dst, start)
}

// Parse reads the payload.
func (f *TakeSnapshot) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Collection = r.uint32()
	f.ResourceVersion = r.rv()
	f.Source = r.string()
	f.ChunkBytes = r.uint32()
	return r.done("TakeSnapshot")
}
