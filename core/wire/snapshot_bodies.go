package wire

import "github.com/watchglass/watchglass/core/api"

// SnapshotBodies contains the bodies of neighboring objects, which a reader that
// requested rows first has received without bodies. All objects belong to one
// namespace, or to the cluster scope.
//
// The frame does not repeat the keys. The objects are those of the subscription from
// First on, in key order. Digest proves that the reader has the same objects.
type SnapshotBodies struct {
	Subscription uint32
	Last         bool    // every body was sent
	First        api.Key // key of the first object
	Objects      uint32
	Digest       uint64 // see [RowDigest]
	Bodies       uint32 // bytes of Data before compression; zero if it is not compressed
	Data         []byte // in the format of the second section of a SnapshotBlock
}

// Append writes the whole frame.
func (f *SnapshotBodies) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotBodies)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendBool(dst, f.Last)
	dst = appendBytes(dst, f.First)
	dst = appendUvarint(dst, uint64(f.Objects))
	dst = appendUint64(dst, f.Digest)
	dst = appendUvarint(dst, uint64(f.Bodies))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse reads the payload. [SnapshotBodies.Expand] reads the bodies.
func (f *SnapshotBodies) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Last = r.bool()
	f.First = api.Key(r.string())
	f.Objects = r.uint32()
	f.Digest = r.uint64()
	f.Bodies = r.uint32()
	f.Data = r.bytes()
	if f.Bodies > maxBlock {
		r.fail("section of a block beyond 1 MiB")
	}
	if f.Objects > maxBlockObjects {
		r.fail("more than 1024 objects in a block")
	}
	return r.done("SnapshotBodies")
}

// RowDigest adds a version to the digest of the versions before it. The digest of no
// versions is zero.
func RowDigest(digest uint64, key api.Key, rv api.ResourceVersion) uint64 {
	const prime = 1099511628211 // FNV-1a
	digest = (digest ^ 14695981039346656037 ^ uint64(len(key))) * prime
	for i := range len(key) {
		digest = (digest ^ uint64(key[i])) * prime
	}
	for i := 0; i < 64; i += 8 {
		digest = (digest ^ uint64(rv)>>i&0xff) * prime
	}
	return digest
}

// RowBody is the body of a version, and the base of a delta.
type RowBody struct {
	Body api.Body
	Base Base
}

// AppendBodies appends the section of the bodies of a block.
func (b *Block) AppendBodies(dst []byte) []byte {
	for i := range b.Objects {
		dst = appendBlockBody(dst, &b.Objects[i])
	}
	return dst
}

// Expand reads the bodies of the given versions, using the memory of b. They are
// valid until its next use.
func (f *SnapshotBodies) Expand(b *Block, versions []api.ResourceVersion) ([]RowBody, *api.Status) {
	section := reader{b: f.Data}
	if f.Bodies > 0 {
		b.sections = grow(b.sections, int(f.Bodies))
		section.b = b.sections
		if !b.inflater.inflate(b.sections, f.Data) {
			section.b = nil
		}
	}
	b.bodies = b.bodies[:0]
	for _, rv := range versions {
		c := Change{ResourceVersion: rv}
		body := section.blockBody(&c)
		b.bodies = append(b.bodies, RowBody{body, c.Base})
	}
	if section.err != nil || section.left() > 0 {
		return nil, api.Internal("a block of bodies is corrupt; the missing ones are requested again")
	}
	return b.bodies, nil
}
