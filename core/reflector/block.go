package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// SnapshotBlock adds the objects of a block to the list. If the block is corrupt,
// the subscription starts over.
func (r *Reflector) SnapshotBlock(f *wire.SnapshotBlock, bytes int) error {
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
		heap := r.cacher.Heap()
		status = r.listBlock(r.block, heap.OpenBlock(f.BlockBodies(), false))
		heap.CloseBlock()
	}
	if status != nil {
		r.startOver(status)
	}
	return nil
}

// listBlock adds objects to the list. In a block, they refer to label sets by
// their index in the block. number is that of the block in the heap.
func (r *Reflector) listBlock(b *wire.Block, number uint32) (status *api.Status) {
	sets := &r.cacher.Heap().Labels
	r.numbers = r.numbers[:0]
	for _, labels := range b.LabelSets {
		r.numbers = append(r.numbers, sets.Intern(labels))
	}
	var p cacher.Put
	for i := 0; i < len(b.Objects) && status == nil; i++ {
		c := &b.Objects[i]
		p = cacher.Put{
			ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base, Envelope: c.Envelope, LabelSet: r.numbers[c.LabelSet],
			Place: store.Place{Block: number, Member: uint32(2 * i)},
		}
		status = r.cacher.Listing().Object(&p)
	}
	for _, number := range r.numbers {
		sets.Release(number)
	}
	return status
}
