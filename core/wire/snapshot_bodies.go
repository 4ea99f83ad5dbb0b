package wire

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
)

// SnapshotBodies contains bodies of neighboring objects. The reader requested rows first
// and has already received these objects without bodies. All objects belong to one
// namespace, or to the cluster scope.
//
// The frame does not repeat the keys. The objects are consecutive objects of the
// subscription in key order, from First on. Digest lets the reader check that it has the
// same versions of these objects.
type SnapshotBodies struct {
	Subscription uint32
	Last         bool    // all bodies of the snapshot have now been sent
	First        api.Key // key of the first object
	Objects      uint32
	Digest       uint64 // see [RowDigest]
	Members      uint32 // bytes of the members
	Bodies       uint32 // bytes of the bodies before compression; zero if they are not compressed
	Data         []byte // members and bodies as in a SnapshotBlock, without the envelopes
}

// Append appends the frame to dst.
func (f *SnapshotBodies) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotBodies)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendBool(dst, f.Last)
	dst = appendBytes(dst, f.First)
	dst = appendUvarint(dst, uint64(f.Objects))
	dst = appendUint64(dst, f.Digest)
	dst = appendUvarint(dst, uint64(f.Members))
	dst = appendUvarint(dst, uint64(f.Bodies))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload. [SnapshotBodies.Expand] reads the bodies.
func (f *SnapshotBodies) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Last = r.bool()
	f.First = api.Key(r.string())
	f.Objects = r.uint32()
	f.Digest = r.uint64()
	f.Members = r.uint32()
	f.Bodies = r.uint32()
	f.Data = r.bytes()
	checkBlock(&r, f.Objects, 0, f.Bodies)
	return r.done("SnapshotBodies")
}

// RowDigest returns the digest of a sequence of versions, given the digest of the
// sequence without its last version. The digest of an empty sequence is zero.
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

// Expand reads the bodies of the given versions into the memory of b. The bodies are
// valid until b is used again.
func (f *SnapshotBodies) Expand(b *Block, versions []api.ResourceVersion) ([]RowBody, *api.Status) {
	members, bodies := splitBlock(f.Data, f.Members)
	ok := true
	if f.Bodies > 0 {
		ok = b.inflate(f.Bodies, bodies)
		bodies = b.sections
	}
	if !ok || !b.readBodies(members, bodies, len(versions), versions) {
		return nil, api.Internal("a block of bodies is corrupt; the missing ones are requested again")
	}
	return b.bodies, nil
}

// readBodies reads the members and bodies of the given number of objects into b, and
// reports whether they are valid. The parameter rest contains the bodies. readBodies
// checks the versions of bases only if versions is not empty.
func (b *Block) readBodies(members, rest []byte, objects int, versions []api.ResourceVersion) bool {
	b.Members, b.bodies = grow(b.Members, objects), b.bodies[:0]
	err := readMembers(b.Members, members, uint32(len(rest)))
	for i := 0; i < objects && err == nil; i++ {
		rv := api.ResourceVersion(math.MaxUint64)
		if len(versions) > 0 {
			rv = versions[i]
		}
		var body RowBody
		body, rest, err = b.Members[i].rowBody(rv, rest)
		b.bodies = append(b.bodies, body)
	}
	return err == nil
}
