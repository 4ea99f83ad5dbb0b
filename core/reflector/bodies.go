package reflector

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A collection that requests rows first has objects whose bodies are pending after its
// first snapshot. Bodies arrive while it is live, each for exactly the version that the
// state has. A change or deletion of the object also ends the wait for its body. When
// none is pending, the collection is like any other.
//
// A later snapshot is complete: the state does not change until it ends.

// maxWanted limits the requested bodies. A session accepts the same number.
const maxWanted = 256

// bodies are the pending bodies.
type bodies struct {
	pending []uint64 // one bit per store.ID
	missing int
	wanted  []api.Key // requested, at most maxWanted
	left    *api.Status
	buffer  *wire.Block // nil unless bodies are pending
	rows    []store.ID  // scratch
	known   []api.ResourceVersion
}

func (b *bodies) has(id store.ID) bool {
	return int(id/64) < len(b.pending) && b.pending[id/64]&(1<<(id%64)) != 0
}

// settle marks an object as not pending.
func (b *bodies) settle(id store.ID) {
	if b.has(id) {
		b.pending[id/64] &^= 1 << (id % 64)
		b.missing--
	}
}

func (b *bodies) add(id store.ID) {
	for int(id/64) >= len(b.pending) {
		b.pending = append(b.pending, 0)
	}
	b.pending[id/64] |= 1 << (id % 64)
	b.missing++
}

// Pending reports whether the body of an object follows.
func (r *Reflector) Pending(key api.Key) bool {
	return r.bodies.missing > 0 && r.bodies.has(r.cacher.State().Find(key))
}

// Complete reports whether the state has all of its bodies.
func (r *Reflector) Complete() bool {
	return !r.cfg.Scope.RowsFirst || r.cacher.Ready() && r.bodies.missing == 0 && r.bodies.left == nil
}

// BodiesLeft returns why the collection continues without bodies, or nil.
func (r *Reflector) BodiesLeft() *api.Status { return r.bodies.left }

// RequestBody asks for a pending body before others, also after a reconnect. While
// maxWanted are requested, further bodies arrive in their turn.
func (r *Reflector) RequestBody(key api.Key) {
	if len(r.bodies.wanted) == maxWanted || slices.Contains(r.bodies.wanted, key) {
		return
	}
	r.bodies.wanted = append(r.bodies.wanted, key)
	if r.sub != 0 {
		r.out = (&wire.RequestBody{Subscription: r.sub, Key: key}).Append(r.out)
	}
}

// dropWanted drops the requests of bodies that are no longer pending.
func (r *Reflector) dropWanted() {
	r.bodies.wanted = slices.DeleteFunc(r.bodies.wanted, func(key api.Key) bool { return !r.Pending(key) })
}

// subscribeBodies sets whether a subscription requests bodies, and the requests that
// follow it.
func (r *Reflector) subscribeBodies(f *wire.Subscribe) (requests []byte) {
	b := &r.bodies
	if !r.cfg.Scope.RowsFirst {
		return nil
	}
	f.MetadataOnly = b.left != nil
	f.RowsFirst = f.MetadataOnly || !r.cacher.Ready()
	if b.missing == 0 || f.ResourceVersion == 0 {
		return nil
	}
	f.RowsFirst = true
	r.cacher.State().Objects(func(id store.ID, ref store.Ref) bool {
		f.BodiesFrom = r.cacher.Heap().Key(ref)
		return !b.has(id)
	})
	r.dropWanted()
	for _, key := range b.wanted {
		requests = (&wire.RequestBody{Subscription: r.sub, Key: key}).Append(requests)
	}
	return requests
}

// findPending determines the pending bodies of a new state.
func (r *Reflector) findPending() {
	b := &r.bodies
	if !r.cfg.Scope.RowsFirst || r.sub == 0 {
		return // a persisted state has all bodies
	}
	b.pending, b.missing = nil, 0
	if b.left == nil {
		r.cacher.State().Objects(func(id store.ID, ref store.Ref) bool {
			if r.cacher.Heap().Envelope(ref).Body().Codec == api.NoBody {
				b.add(id)
			}
			return true
		})
	}
	if b.missing == 0 && b.left == nil {
		r.OnBodies(nil)
	}
}

// completed ends the wait for bodies once none is pending.
func (r *Reflector) completed() {
	if r.bodies.missing > 0 || r.bodies.left != nil {
		return
	}
	r.bodies = bodies{}
	r.forgetHistory()
	r.OnBodies(nil)
}

// forgetHistory removes all events from the history window. Some of them refer to objects
// without bodies, and a later watch must not receive those.
func (r *Reflector) forgetHistory() { r.cacher.Watches().ForgetHistory(r.cacher.ResourceVersion()) }

// SnapshotBodies sets bodies. If the state has other versions than the connector, a
// snapshot follows. After a corrupt block the subscription resumes with the first body
// that is missing.
func (r *Reflector) SnapshotBodies(f *wire.SnapshotBodies, bytes int) error {
	if err := r.answered("SnapshotBodies"); err != nil {
		return err
	}
	r.asked = r.now
	if r.phase == subscribed {
		r.phase = catchingUp
	}
	r.consumed(bytes)
	if r.bodies.missing == 0 {
		return nil
	}
	if !r.findRows(f) {
		r.startOver(api.Internal("a block of bodies has other versions"))
		return nil
	}
	if r.bodies.buffer == nil {
		r.bodies.buffer = &wire.Block{}
	}
	list, status := f.Expand(r.bodies.buffer, r.bodies.known)
	if status != nil {
		r.CorruptBodies++
		r.retry(status)
		return nil
	}
	if status := r.setBodies(list, f.BlockBodies()); status != nil {
		r.startOver(status)
		return nil
	}
	r.dropWanted()
	if f.Last && r.bodies.missing > 0 {
		r.startOver(api.Internal("some bodies were not sent"))
	}
	r.completed()
	return nil
}

// setBodies sets the bodies of the pending rows.
func (r *Reflector) setBodies(list []wire.RowBody, block wire.BlockBodies) (status *api.Status) {
	var place store.Place
	if block.Bodies > 0 {
		heap := r.cacher.Heap()
		place.Block = heap.OpenBlock(block, false)
		defer heap.CloseBlock()
	}
	for i := 0; i < len(list) && status == nil; i++ {
		id := r.bodies.rows[i]
		if !r.bodies.has(id) {
			continue
		}
		if place.Block != 0 {
			place.Member = uint32(2 * i)
		}
		if status = r.cacher.Bodies().Set(r.cacher.State().Version(id), &list[i], place); status == nil {
			r.bodies.settle(id)
		}
	}
	return status
}

// retry ends a subscription that is to resume after a delay.
func (r *Reflector) retry(why *api.Status) {
	r.out = (&wire.Unsubscribe{Subscription: r.sub}).Append(r.out)
	r.sub, r.status = 0, why
	r.wait(r.backoff.Next(r.now))
}

// findRows sets rows and known to the objects of a block. It returns false if the
// state has other objects or versions.
func (r *Reflector) findRows(f *wire.SnapshotBodies) bool {
	b, heap, state, digest := &r.bodies, r.cacher.Heap(), r.cacher.State(), uint64(0)
	b.rows, b.known = b.rows[:0], b.known[:0]
	state.Ascend(f.First, func(ref store.Ref) bool {
		if len(b.known) == int(f.Objects) {
			return false
		}
		digest = wire.RowDigest(digest, heap.Key(ref), heap.ResourceVersion(ref))
		b.known = append(b.known, heap.ResourceVersion(ref))
		b.rows = append(b.rows, state.Find(heap.Key(ref)))
		return true
	})
	return len(b.known) == int(f.Objects) && digest == f.Digest
}

// LeaveBodies continues with metadata only, for the given reason, which BodiesLeft
// then returns. It returns false if no body is pending.
func (r *Reflector) LeaveBodies(why *api.Status) bool {
	if r.bodies.missing == 0 {
		return false
	}
	why.Message = "bodies omitted: " + why.Message
	r.bodies = bodies{left: why}
	r.forgetHistory()
	r.cacher.State().DropBodies()
	r.cacher.Listing().Abort() // it has bodies
	r.OnBodies(why)
	if r.sub != 0 {
		r.resubscribe()
	}
	return true
}

// settleChanged settles an object after a change, given its ID before the change. Its
// new version has a body.
func (r *Reflector) settleChanged(key api.Key, before store.ID) {
	if id := r.cacher.State().Find(key); id == 0 || r.cacher.Heap().Envelope(r.cacher.State().Version(id)).Body().Codec != api.NoBody {
		r.bodies.settle(before)
	}
}
