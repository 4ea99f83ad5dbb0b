package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// snapshotBlock adds the objects of a block to the list. If the block is corrupt,
// the subscription starts over.
//
// The first list does not decompress bodies. A later list compares its bodies with the
// bodies of the state, because objects with equal versions may differ after the source
// was restored from a backup.
func (r *Reflector) snapshotBlock(f *wire.SnapshotBlock, bytes int) error {
	if r.phase != listing {
		return api.Protocol("received SnapshotBlock outside of a snapshot")
	}
	r.asked = r.now
	r.consumed(bytes)
	if r.block == nil {
		r.block = &wire.Block{}
	}
	status := f.Expand(r.block, r.cacher.State().Len() > 0)
	if status == nil {
		status = r.addBlock(r.block, f.BlockBodies(), nil, r.cacher.Listing().Object)
	}
	if status != nil {
		r.startOver(status)
	}
	return nil
}

// addBlock passes the objects of a block to the function add. The argument indices
// contains the position of each object's body in the block of bodies; if empty, the
// bodies are in the order of the objects. The LabelSet of an object is an index into
// b.LabelSets. A corrupt block of bodies is detected only when a body is read.
func (r *Reflector) addBlock(b *wire.Block, bodies wire.BlockBodies, indices []uint32, add func(*cacher.Update) *api.Status) (status *api.Status) {
	arena := r.cacher.Arena()
	block := arena.OpenBlock(bodies, false)
	numbers := r.numbers[:0]
	r.numbers = nil // adding an object may load a segment, which calls addBlock again
	for _, labels := range b.LabelSets {
		numbers = append(numbers, arena.Labels.Intern(labels))
	}
	var p cacher.Update
	for i := 0; i < len(b.Objects) && status == nil; i++ {
		c := &b.Objects[i]
		p = cacher.Update{
			ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base, Envelope: c.Envelope, LabelSet: numbers[c.LabelSet],
		}
		if len(b.Members) > 0 {
			p.Member = store.MemberRef{Block: block, Index: uint32(2 * i), Size: b.Members[i].Size, BaseSize: b.Members[i].BaseSize}
		}
		if len(indices) > 0 {
			p.Member.Index = 2 * indices[i]
		}
		status = add(&p)
	}
	for _, number := range numbers {
		arena.Labels.Release(number)
	}
	r.numbers = numbers
	arena.CloseBlock()
	return status
}

// storedBlock passes the objects of a persisted block to the function add.
func (r *Reflector) storedBlock(f *wire.StoredBlock, add func(*cacher.Update) *api.Status) *api.Status {
	block := r.restored.block
	if block == nil {
		block = &wire.Block{}
	}
	r.restored.block = nil
	status := f.Expand(block)
	if status == nil {
		status = r.addBlock(block, f.Block, f.Members, add)
	}
	r.restored.block = block
	if status == nil {
		status = r.cacher.Restored().Cause()
	}
	return status
}
