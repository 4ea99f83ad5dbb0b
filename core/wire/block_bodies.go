package wire

import "github.com/watchglass/watchglass/core/api"

// BlockBodies describes the bodies of a block, which remain compressed as received. In
// [BodyExpander.Member], index 2i selects the body of object i, and index 2i+1 selects
// the base if that body is a delta.
type BlockBodies struct {
	Data    []byte // the members, followed by a deflate stream
	Members uint32 // bytes of the members
	Before  uint32 // bytes of the decompressed stream before the bodies
	Bodies  uint32 // bytes of the bodies, decompressed
	Objects uint32
}

// BlockBodies returns the bodies of the block, which alias the frame.
func (f *SnapshotBlock) BlockBodies() BlockBodies {
	return BlockBodies{Data: f.Data, Before: f.Envelopes, Members: f.Members, Bodies: f.Bodies, Objects: f.Objects}
}

// BlockBodies returns the bodies of the block. The result aliases the frame. The field
// Bodies is zero if the bodies are not compressed.
func (f *SnapshotBodies) BlockBodies() BlockBodies {
	return BlockBodies{Data: f.Data, Members: f.Members, Bodies: f.Bodies, Objects: f.Objects}
}

// BodyExpander decompresses one block of bodies at a time. The zero value is ready to use.
type BodyExpander struct{ block Block }

// Expand decompresses a block and discards the previously expanded one. It reports
// whether the block is valid, but does not check the versions of bases.
func (x *BodyExpander) Expand(b *BlockBodies) bool {
	x.block.bodies = x.block.bodies[:0]
	members, stream := splitBlock(b.Data, b.Members)
	return x.block.inflate(b.Before+b.Bodies, stream) &&
		x.block.readBodies(members, x.block.sections[b.Before:], int(b.Objects), nil)
}

// Member returns member i of the last expanded block, as numbered by [BlockBodies], or
// the zero Body if there is no such member. The result is valid until the next Expand.
func (x *BodyExpander) Member(i int) api.Body {
	switch {
	case i/2 >= len(x.block.bodies):
		return api.Body{}
	case i%2 == 1:
		return x.block.bodies[i/2].Base.Body
	}
	return x.block.bodies[i/2].Body
}

// Bytes returns the memory in use for the decompressed block, in bytes.
func (x *BodyExpander) Bytes() int { return cap(x.block.sections) }
