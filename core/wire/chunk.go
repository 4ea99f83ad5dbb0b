package wire

import "github.com/watchglass/watchglass/core/api"

// ChunkFormat is the format of [Chunk]. A program that finds another one in what
// it kept throws it away.
const ChunkFormat = 4

// Chunk is a piece of a collection's state at rest, with a checksum over all of
// it. Programs get it in a [SnapshotChunk], keep it as the bytes it is, and hand
// it back in a [RestoreChunk].
//
// The chunks of one snapshot are a chain: each has the checksum of the one
// before it, so that none can be missing, repeated or of another snapshot. Their
// frames, taken together, are what a connector sends to a reader that subscribes
// to the whole scope, with or without a version to resume from: [Dictionary],
// [Schema], [ObjectError], [LabelSet], [SnapshotBegin], [SnapshotPart],
// [SnapshotEnd], [Events] and [Progress].
//
// Behind the frame of a chunk may lie its body: objects of a snapshot in their order,
// which belong between its frames. Nobody needs it who does not look at one of them,
// so it can stay where it is kept, and be loaded when it is asked for. It stands for
// itself: all label sets that its objects have are defined in it, and the dictionaries
// that it names in the frames of the chunks up to its own.
type Chunk struct {
	Resource           string
	Namespace          string
	LabelSelector      string
	FieldSelector      string
	MetadataOnly       bool
	Source             string              // of the resource versions
	From               api.ResourceVersion // of the state that the changes lead on from; zero for a whole state
	LastProgressMillis int64               // when the connector was last heard of
	Previous           uint64              // the checksum of the chunk before; zero in the first
	Last               bool                // of its snapshot
	Frames             []byte
	Body               ChunkBody
}

// ChunkBody says what the body of a chunk is; without objects there is none.
type ChunkBody struct {
	Objects uint32
	First   api.Key // of the first
	At      uint32  // how many bytes of the frames are before it
	Bytes   uint32
	Sum     uint64 // see [BodySum]
}

// checksumBytes stand at the end of a chunk.
const checksumBytes = 8

// Append writes the whole frame, checksum included.
func (f *Chunk) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeChunk)
	dst = appendUvarint(dst, ChunkFormat)
	dst = appendBytes(dst, f.Resource)
	dst = appendBytes(dst, f.Namespace)
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendBool(dst, f.MetadataOnly)
	dst = appendBytes(dst, f.Source)
	dst = appendUvarint(dst, uint64(f.From))
	dst = appendVarint(dst, f.LastProgressMillis)
	dst = appendUint64(dst, f.Previous)
	dst = appendBool(dst, f.Last)
	dst = appendBytes(dst, f.Frames)
	dst = f.Body.append(dst)
	dst = appendUint64(dst, checksum(dst[start:]))
	return end(dst, start)
}

// Parse reads the payload. Another format or a wrong checksum is an error before
// anything else is looked at.
func (f *Chunk) Parse(payload []byte) error {
	r := reader{b: payload}
	if format := r.uvarint(); r.err == nil && format != ChunkFormat {
		r.fail("written in another format, by another release of watchglass,")
	}
	if at := len(payload) - checksumBytes; r.err == nil && (at < r.off || checksum(payload[:at]) != ChunkSum(payload)) {
		r.fail("damaged: the checksum does not match,")
	}
	f.Resource = r.string()
	f.Namespace = r.string()
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.MetadataOnly = r.bool()
	f.Source = r.string()
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
	return appendUint64(dst, b.Sum)
}

func (b *ChunkBody) parse(r *reader, frames int) {
	*b = ChunkBody{Objects: r.uint32()}
	if b.Objects == 0 {
		return
	}
	b.First = api.Key(r.string())
	b.At, b.Bytes = r.uint32(), r.uint32()
	b.Sum = r.uint64()
	if int64(b.At) > int64(frames) || b.Bytes == 0 || b.Bytes > MaxMessage || b.First == "" {
		r.fail("body that cannot be")
	}
}

// Split returns what is before and what is behind the body.
func (f *Chunk) Split() (before, behind []byte) {
	return f.Frames[:f.Body.At], f.Frames[f.Body.At:]
}

// BodySum is the checksum of a chunk's body.
func BodySum(body []byte) uint64 { return checksum(body) }

// ChunkSum is the checksum at the end of a chunk, or zero if it is too short to
// have one.
func ChunkSum(chunk []byte) uint64 {
	if len(chunk) < checksumBytes {
		return 0
	}
	r := reader{b: chunk[len(chunk)-checksumBytes:]}
	return r.uint64()
}

// checksum is FNV-1a over eight bytes at a time: any damage within one such
// word, however small, gives another sum. Zero stands for no chunk, and is never
// the sum of one.
func checksum(b []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset) ^ uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		word := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		h = (h ^ word) * prime
		h ^= h >> 32
	}
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
	}
	return max(h, 1)
}
