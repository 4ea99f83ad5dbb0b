package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// snapshotBlock adds the objects of a block to the list. If the block is corrupt,
// the subscription starts over.
func (r *Reflector) snapshotBlock(f *wire.SnapshotBlock, bytes int) error {
	if r.phase != listing {
		return api.Protocol("received SnapshotBlock outside of a snapshot")
	}
	r.asked = r.now
	r.consumed(bytes)
	if r.block == nil {
		r.block = &wire.Block{}
	}
	status := f.Expand(r.block)
	if status == nil {
		arena := r.cacher.Arena()
		number := arena.OpenBlock(f.BlockBodies(), false)
		status = r.addBlock(r.block, func(i int, p *cacher.Update) *api.Status {
			p.Member = store.MemberRef{Block: number, Index: uint32(2 * i)}
			return r.cacher.Listing().Object(p)
		})
		arena.CloseBlock()
	}
	if status != nil {
		r.startOver(status)
	}
	return nil
}

// addBlock adds the objects of a block, which refer to label sets by their index in the
// block.
func (r *Reflector) addBlock(b *wire.Block, add func(i int, p *cacher.Update) *api.Status) (status *api.Status) {
	sets := &r.cacher.Arena().Labels
	numbers := r.numbers[:0]
	r.numbers = nil // adding an object may load a segment, which has blocks of its own
	for _, labels := range b.LabelSets {
		numbers = append(numbers, sets.Intern(labels))
	}
	var p cacher.Update
	for i := 0; i < len(b.Objects) && status == nil; i++ {
		c := &b.Objects[i]
		p = cacher.Update{
			ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base, Envelope: c.Envelope, LabelSet: numbers[c.LabelSet],
		}
		status = add(i, &p)
	}
	for _, number := range numbers {
		sets.Release(number)
	}
	r.numbers = numbers
	return status
}

// storedBlock adds the objects of a persisted block. Their bodies are checked when one of
// them is read.
func (r *Reflector) storedBlock(f *wire.StoredBlock, add func(*cacher.Update) *api.Status) *api.Status {
	block := r.restored.block
	if block == nil {
		block = &wire.Block{}
	}
	r.restored.block = nil
	if status := f.Expand(block); status != nil {
		return status
	}
	arena := r.cacher.Arena()
	number := arena.OpenBlock(f.Block, false)
	status := r.addBlock(block, func(i int, p *cacher.Update) *api.Status {
		m := f.Members[i]
		p.Member = store.MemberRef{Block: number, Index: 2 * m.Index, Size: m.Body, BaseSize: m.BaseBody}
		return add(p)
	})
	arena.CloseBlock()
	r.restored.block = block
	if status == nil {
		status = r.cacher.Restored().Cause()
	}
	return status
}
