package wire

import "github.com/watchglass/watchglass/core/api"

// ChunkFormat is the format of [Chunk]. Programs discard persisted chunks of
// other formats.
const ChunkFormat = 8

// Chunk is a part of a collection's persisted state, with a checksum. Programs
// receive it in a [SnapshotChunk], store its bytes, and return it in a
// [RestoreChunk].
//
// Each chunk of a snapshot contains the checksum of the previous one, so none can
// be missing, repeated or from a different snapshot. The chunks contain the frames
// of a subscription to the scope, with or without a version to resume from.
// These frames are [Dictionary], [Schema], [ObjectError], [LabelSet],
// [SnapshotBegin], [SnapshotPart], [SnapshotEnd], [Events] and [Progress]. Objects whose
// bodies are in a block are in a [StoredBlock].
//
// The frame of a chunk may be followed by its body, which contains objects of a
// snapshot. The body is processed at position Body.At of the chunk's frames. A body is needed only when one of its
// objects is read, so it can stay in storage and be loaded on demand. It defines
// all label sets of its objects. The dictionaries it refers to are in the frames
// of this and the previous chunks.
type Chunk struct {
	Resource           string
	Namespace          string
	LabelSelector      string
	FieldSelector      string
	MetadataOnly       bool
	ClusterID          string              // of the resource versions
	From               api.ResourceVersion // the version that the changes start from; zero for a complete state
	LastProgressMillis int64               // time of the last progress
	Previous           uint64              // checksum of the previous chunk; zero in the first
	Last               bool                // of its snapshot
	Frames             []byte
	Body               ChunkBody
}

// ChunkBody describes the body of a chunk. A chunk without a body has zero
// objects.
type ChunkBody struct {
	Objects uint32
	First   api.Key // key of the first object
	At      uint32  // position of the body, in bytes of Frames
	Bytes   uint32
	Memory  uint32 // estimated memory of its objects
	Sum     uint64 // see [BodySum]
}

// checksumBytes is the size of the checksum at the end of a chunk.
const checksumBytes = 8

// Append writes the whole frame, including the checksum.
func (f *Chunk) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeChunk)
	dst = appendUvarint(dst, ChunkFormat)
	dst = appendBytes(dst, f.Resource)
	dst = appendBytes(dst, f.Namespace)
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendBool(dst, f.MetadataOnly)
	dst = appendBytes(dst, f.ClusterID)
	dst = appendUvarint(dst, uint64(f.From))
	dst = appendVarint(dst, f.LastProgressMillis)
	dst = appendUint64(dst, f.Previous)
	dst = appendBool(dst, f.Last)
	dst = appendBytes(dst, f.Frames)
	dst = f.Body.append(dst)
	dst = appendUint64(dst, checksum(dst[start:]))
	return end(dst, start)
}

// Parse reads the payload. It checks the format and the checksum before anything
// else.
func (f *Chunk) Parse(payload []byte) error {
	r := reader{b: payload}
	if format := r.uvarint(); r.err == nil && format != ChunkFormat {
		r.fail("written by a different release of watchglass, in another format,")
	}
	if at := len(payload) - checksumBytes; r.err == nil && (at < r.off || checksum(payload[:at]) != ChunkSum(payload)) {
		r.fail("corrupt: the checksum does not match,")
	}
	f.Resource = r.string()
	f.Namespace = r.string()
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.MetadataOnly = r.bool()
	f.ClusterID = r.string()
	f.From = r.rv()
	f.LastProgressMillis = r.varint()
	f.Previous = r.uint64()
	f.Last = r.bool()
	f.Frames = r.bytes()
	f.Body.parse(&r, len(f.Frames))
	r.uint64()
	return r.done("Chunk")
}

func (b *ChunkBody) append(dst []byte) []byte {
	dst = appendUvarint(dst, uint64(b.Objects))
	if b.Objects == 0 {
		return dst
	}
	dst = appendBytes(dst, b.First)
	dst = appendUvarint(dst, uint64(b.At))
	dst = appendUvarint(dst, uint64(b.Bytes))
	dst = appendUvarint(dst, uint64(b.Memory))
	return appendUint64(dst, b.Sum)
}

func (b *ChunkBody) parse(r *reader, frames int) {
	*b = ChunkBody{Objects: r.uint32()}
	if b.Objects == 0 {
		return
	}
	b.First = api.Key(r.string())
	b.At, b.Bytes, b.Memory = r.uint32(), r.uint32(), r.uint32()
	b.Sum = r.uint64()
	if int64(b.At) > int64(frames) || b.Bytes == 0 || b.Bytes > MaxMessage || b.First == "" {
		r.fail("invalid body")
	}
}

// Split returns the frames before and after the body.
func (f *Chunk) Split() (before, behind []byte) {
	return f.Frames[:f.Body.At], f.Frames[f.Body.At:]
}

// BodySum returns the checksum of a chunk's body.
func BodySum(body []byte) uint64 { return checksum(body) }

// ChunkSum returns the checksum at the end of a chunk, or zero if it is too
// short.
func ChunkSum(chunk []byte) uint64 {
	if len(chunk) < checksumBytes {
		return 0
	}
	r := reader{b: chunk[len(chunk)-checksumBytes:]}
	return r.uint64()
}
