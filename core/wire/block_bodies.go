package wire

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
)

// BlockBodies are the bodies of a block, compressed as received. Member 2i is the body
// of object i. If it is a delta, member 2i+1 is its base.
type BlockBodies struct {
	Data    []byte // a deflate stream
	Before  uint32 // its bytes before the bodies, decompressed
	Bodies  uint32 // bytes of the bodies, decompressed
	Objects uint32
}

// BlockBodies returns the bodies of the block. They alias the frame.
func (f *SnapshotBlock) BlockBodies() BlockBodies {
	return BlockBodies{Data: f.Data, Before: f.Envelopes, Bodies: f.Bodies, Objects: f.Objects}
}

// BlockBodies returns the bodies of the block. They alias the frame. Bodies is zero if
// they are not compressed.
func (f *SnapshotBodies) BlockBodies() BlockBodies {
	return BlockBodies{Data: f.Data, Bodies: f.Bodies, Objects: f.Objects}
}

// BodyExpander decompresses one block of bodies at a time. The zero value is ready to use.
type BodyExpander struct {
	sections []byte
	members  []api.Body
	inflater inflater
}

// Expand decompresses a block, and overwrites the one before. It returns false if the
// block is corrupt.
func (x *BodyExpander) Expand(b *BlockBodies) bool {
	n := int(b.Before + b.Bodies)
	x.sections = grow(x.sections, n)
	x.members = x.members[:0]
	if !x.inflater.inflate(x.sections, b.Data) {
		return false
	}
	section := reader{b: x.sections[b.Before:n]}
	for range b.Objects {
		c := Change{ResourceVersion: math.MaxUint64} // the versions of bases were checked when the block was received
		body := section.blockBody(&c)
		x.members = append(x.members, body, c.Base.Body)
	}
	return section.err == nil
}

// Member returns a body of the block that was decompressed last. It is valid until the
// next Expand.
func (x *BodyExpander) Member(i int) api.Body {
	if i >= len(x.members) {
		return api.Body{}
	}
	return x.members[i]
}

// Bytes returns the memory of the decompressed block.
func (x *BodyExpander) Bytes() int { return cap(x.sections) }
