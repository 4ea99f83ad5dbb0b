package wire

import "github.com/watchglass/watchglass/core/api"

// StoredBlock contains objects of a persisted snapshot whose bodies are in a block, which
// is stored as it was received. Other objects of the block have changed since and are not
// among its members.
type StoredBlock struct {
	Block BlockBodies
	// Rows has the envelopes of the members, in the format of the first section of a
	// SnapshotBlock. It is empty if the block itself begins with that section.
	Rows    []byte
	Members []StoredMember // in order of their index
}

// StoredMember is an object of a StoredBlock. The sizes allow an engine to store the
// object without decompressing its body.
type StoredMember struct {
	Index    uint32              // of the object in the block
	Body     uint32              // bytes of the body
	Base     api.ResourceVersion // of the base if the body is a delta, otherwise zero
	BaseBody uint32              // bytes of the body of the base
}

// Append writes the whole frame.
func (f *StoredBlock) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeStoredBlock)
	dst = appendUvarint(dst, uint64(f.Block.Objects))
	dst = appendUvarint(dst, uint64(f.Block.Before))
	dst = appendUvarint(dst, uint64(f.Block.Bodies))
	dst = appendBytes(dst, f.Block.Data)
	dst = appendBytes(dst, f.Rows)
	dst = appendUvarint(dst, uint64(len(f.Members)))
	next := uint32(0)
	for _, m := range f.Members {
		dst = appendUvarint(dst, uint64(m.Index-next))
		next = m.Index + 1
		dst = appendUvarint(dst, uint64(m.Body))
		dst = appendUvarint(dst, uint64(m.Base))
		if m.Base != 0 {
			dst = appendUvarint(dst, uint64(m.BaseBody))
		}
	}
	return end(dst, start)
}

// Parse reads the payload, and reuses the memory of Members. [StoredBlock.Expand] reads
// the envelopes.
func (f *StoredBlock) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Block.Objects = r.uint32()
	f.Block.Before = r.uint32()
	f.Block.Bodies = r.uint32()
	f.Block.Data = r.bytes()
	f.Rows = r.bytes()
	if f.Block.Before > maxBlock || f.Block.Bodies > maxBlock {
		r.fail("section of a block beyond 1 MiB")
	}
	if f.Block.Objects > maxBlockObjects {
		r.fail("more than 1024 objects in a block")
	}
	f.Members = grow(f.Members, r.count(3))
	next := uint64(0)
	for i := range f.Members {
		m := &f.Members[i]
		r.storedMember(m)
		index := next + uint64(m.Index)
		if index >= uint64(f.Block.Objects) || uint64(m.Body)+uint64(m.BaseBody) > uint64(f.Block.Bodies) {
			r.fail("member beyond its block")
		}
		m.Index, next = uint32(index), index+1
	}
	return r.done("StoredBlock")
}

// storedMember reads a member. Its Index is relative to that of the previous member.
func (r *reader) storedMember(m *StoredMember) {
	*m = StoredMember{Index: r.uint32(), Body: r.uint32(), Base: r.rv()}
	if m.Base != 0 {
		m.BaseBody = r.uint32()
	}
	if m.Body == 0 || (m.Base == 0) != (m.BaseBody == 0) {
		r.fail("member without a body")
	}
}

// Expand reads the envelopes of the members into b, in order, and reuses its memory. They
// have no bodies, and are valid until the next call. It does not decompress the bodies.
func (f *StoredBlock) Expand(b *Block) *api.Status {
	section, objects := f.Rows, len(f.Members)
	if f.Block.Before > 0 {
		b.sections = grow(b.sections, int(f.Block.Before))
		if !b.inflater.inflate(b.sections, f.Block.Data) {
			return api.Internal("a persisted block is corrupt: it does not decompress")
		}
		section, objects = b.sections, int(f.Block.Objects)
	}
	envelopes := reader{b: section}
	b.parse(&envelopes, &reader{}, objects)
	if err := envelopes.done("envelopes"); err != nil {
		return api.Internal("a persisted block is corrupt: " + api.AsStatus(err).Message)
	}
	if f.Block.Before > 0 {
		for i, m := range f.Members {
			b.Objects[i] = b.Objects[m.Index] // an index is at least its position
		}
		b.Objects = b.Objects[:len(f.Members)]
	}
	for i, m := range f.Members {
		if m.Base >= b.Objects[i].ResourceVersion {
			return api.Internal("a persisted block is corrupt: a base is not older than its delta")
		}
		b.Objects[i].Base.ResourceVersion = m.Base
	}
	return nil
}
