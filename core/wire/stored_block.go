package wire

import "github.com/watchglass/watchglass/core/api"

// StoredBlock contains those objects of a persisted snapshot whose bodies are in one
// block. The block is stored as received. Objects of the block that changed after the
// block was received are not among the members.
type StoredBlock struct {
	Block BlockBodies
	// Rows contains the envelopes of the members, in the format of the first section of a
	// SnapshotBlock. It is empty if the block itself begins with that section.
	Rows    []byte
	Members []uint32 // ascending indices of objects of the block
}

// Append appends the frame to dst.
func (f *StoredBlock) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeStoredBlock)
	dst = appendUvarint(dst, uint64(f.Block.Objects))
	dst = appendUvarint(dst, uint64(f.Block.Before))
	dst = appendUvarint(dst, uint64(f.Block.Members))
	dst = appendUvarint(dst, uint64(f.Block.Bodies))
	dst = appendBytes(dst, f.Block.Data)
	dst = appendBytes(dst, f.Rows)
	dst = appendUvarint(dst, uint64(len(f.Members)))
	next := uint32(0)
	for _, index := range f.Members {
		dst = appendUvarint(dst, uint64(index-next))
		next = index + 1
	}
	return end(dst, start)
}

// Parse sets the fields from a payload, and reuses the memory of Members.
// [StoredBlock.Expand] reads the envelopes.
func (f *StoredBlock) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Block.Objects = r.uint32()
	f.Block.Before = r.uint32()
	f.Block.Members = r.uint32()
	f.Block.Bodies = r.uint32()
	f.Block.Data = r.bytes()
	f.Rows = r.bytes()
	checkBlock(&r, f.Block.Objects, f.Block.Before, f.Block.Bodies)
	f.Members = grow(f.Members, r.count(1))
	next := uint64(0)
	for i := range f.Members {
		f.Members[i] = r.uint32()
		index := next + uint64(f.Members[i])
		if index >= uint64(f.Block.Objects) {
			r.fail("member beyond its block")
		}
		f.Members[i], next = uint32(index), index+1
	}
	return r.done("StoredBlock")
}

// Expand reads the envelopes of the members into b, in order, and reuses the memory of b.
// The envelopes are valid until the next call. Expand does not decompress the bodies.
func (f *StoredBlock) Expand(b *Block) *api.Status {
	all := f.Block.Before > 0 // the envelopes are those of all objects of the block
	members, stream := splitBlock(f.Block.Data, f.Block.Members)
	objects := len(f.Members)
	if all {
		if !b.inflate(f.Block.Before, stream) {
			return api.Internal("a persisted block is corrupt: it does not decompress")
		}
		objects = int(f.Block.Objects)
	} else {
		b.sections = append(b.sections[:0], f.Rows...) // addBodies writes to it
	}
	err := b.parse(b.sections, objects)
	if err == nil {
		b.Members = grow(b.Members, int(f.Block.Objects))
		err = readMembers(b.Members, members, f.Block.Bodies)
	}
	if err == nil {
		for i, index := range f.Members { // index >= i, so entry i is not needed any more
			if b.Members[i] = b.Members[index]; b.Members[i].Size == 0 {
				err = api.Protocol("a member without a body")
			}
			if all {
				b.Objects[i] = b.Objects[index]
			}
		}
		b.Objects, b.Members = b.Objects[:len(f.Members)], b.Members[:len(f.Members)]
	}
	if err == nil {
		err = b.addBodies(nil)
	}
	if err != nil {
		return api.Internal("a persisted block is corrupt: " + api.AsStatus(err).Message)
	}
	return nil
}
