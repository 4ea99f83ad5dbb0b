package wire

import "github.com/watchglass/watchglass/core/api"

// ChunkFormat is the format version of [Chunk]. Programs discard persisted chunks in
// other formats.
const ChunkFormat = 8

// Chunk is a part of a collection's persisted state, with a checksum. Programs
// receive it in a [SnapshotChunk], store its bytes, and return it in a
// [RestoreChunk].
//
// Each chunk of a snapshot contains the checksum of the previous one. A chunk that is
// missing, repeated or from a different snapshot is therefore detected. The chunks
// contain the frames that a connector sends for a subscription to the scope of the
// collection: a complete state, or the changes after version From. These frames are
// [Dictionary], [Schema], [ObjectError], [LabelSet], [SnapshotBegin], [SnapshotPart],
// [SnapshotEnd], [Events] and [Progress]. A [StoredBlock] contains the objects whose
// bodies are stored in a block.
//
// The body of a chunk, which may follow the frame, contains objects of a snapshot. The
// frames in the body belong at offset Body.At of Frames. The engine needs a body only
// when one of its objects is read, so a program can load bodies on demand. The body
// defines all label sets of its objects. The dictionaries that the body refers to are in
// the frames of this chunk and the previous ones.
type Chunk struct {
	Resource           string
	Namespace          string
	LabelSelector      string
	FieldSelector      string
	MetadataOnly       bool
	ClusterID          string              // identifies the history of the resource versions
	From               api.ResourceVersion // the version that the changes start from; zero for a complete state
	LastProgressMillis int64               // time of the last progress, on the clock of Tick
	Previous           uint64              // checksum of the previous chunk; zero in the first
	Last               bool                // the last chunk of its snapshot
	Frames             []byte
	Body               ChunkBody
}

// ChunkBody describes the body of a chunk. If the chunk has no body, Objects is zero.
type ChunkBody struct {
	Objects uint32
	First   api.Key // key of the first object
	At      uint32  // offset of the body in Frames, in bytes
	Bytes   uint32
	Memory  uint32 // estimated memory of its objects, in bytes
	Sum     uint64 // see [BodySum]
}

// checksumBytes is the size of the checksum at the end of a chunk, in bytes.
const checksumBytes = 8

// Append appends the frame to dst, including the checksum.
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

// Parse sets the fields from a payload. It checks the format and the checksum before it
// reads any other field.
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

// Split returns the frames before and after the position of the body. Both alias Frames.
func (f *Chunk) Split() (before, behind []byte) {
	return f.Frames[:f.Body.At], f.Frames[f.Body.At:]
}

// BodySum returns the checksum of a chunk's body.
func BodySum(body []byte) uint64 { return checksum(body) }

// ChunkSum returns the checksum at the end of a chunk, or zero if the chunk is too short.
func ChunkSum(chunk []byte) uint64 {
	if len(chunk) < checksumBytes {
		return 0
	}
	r := reader{b: chunk[len(chunk)-checksumBytes:]}
	return r.uint64()
}
