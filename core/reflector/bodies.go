package reflector

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// If a collection requests rows first, the bodies of its objects are pending after the
// first snapshot. Bodies arrive while the collection is live, and each body belongs to
// exactly the version in the state. A change to the object, or its deletion, also ends
// the wait for the body. When no body is pending, the collection behaves like any other.
//
// Later snapshots contain the bodies, and replace the state only when they are complete.

// maxWanted is the maximum number of bodies that are requested at a time. A session
// accepts the same number.
const maxWanted = 256

// Bodies tracks the bodies that a collection waits for, or the reason why it continues
// without them.
type Bodies struct {
	reflector *Reflector
	pending   []uint64 // one bit per store.ID
	missing   int
	wanted    []api.Key // requested, at most maxWanted
	left      *api.Status
	buffer    *wire.Block // nil unless bodies are pending
	rows      []store.ID  // scratch
	known     []api.ResourceVersion
}

// Bodies returns the bodies that the collection waits for.
func (r *Reflector) Bodies() *Bodies { return &r.bodies }

func (b *Bodies) has(id store.ID) bool {
	return int(id/64) < len(b.pending) && b.pending[id/64]&(1<<(id%64)) != 0
}

// settle marks an object as not pending.
func (b *Bodies) settle(id store.ID) {
	if b.has(id) {
		b.pending[id/64] &^= 1 << (id % 64)
		b.missing--
	}
}

func (b *Bodies) add(id store.ID) {
	for int(id/64) >= len(b.pending) {
		b.pending = append(b.pending, 0)
	}
	b.pending[id/64] |= 1 << (id % 64)
	b.missing++
}

// Pending reports whether the collection waits for the body of an object.
func (b *Bodies) Pending(key api.Key) bool {
	return b.missing > 0 && b.has(b.reflector.cacher.State().Find(key))
}

// Complete reports whether the state has all of its bodies. It returns true if the
// collection does not request rows first.
func (b *Bodies) Complete() bool {
	r := b.reflector
	return !r.cfg.Scope.RowsFirst || r.cacher.Ready() && b.missing == 0 && b.left == nil
}

// Left returns why the collection continues without bodies, or nil.
func (b *Bodies) Left() *api.Status { return b.left }

// Request asks the connector to send a pending body before others. The reflector repeats
// the request after a reconnect. If maxWanted bodies are requested already, Request does
// nothing.
func (b *Bodies) Request(key api.Key) {
	if len(b.wanted) == maxWanted || slices.Contains(b.wanted, key) {
		return
	}
	b.wanted = append(b.wanted, key)
	if r := b.reflector; r.sub != 0 {
		r.out = (&wire.RequestBody{Subscription: r.sub, Key: key}).Append(r.out)
	}
}

// Leave drops all bodies and continues with metadata only. Left then returns the given
// reason. Leave does nothing and returns false if no body is pending.
func (b *Bodies) Leave(why *api.Status) bool {
	if b.missing == 0 {
		return false
	}
	r := b.reflector
	why.Message = "bodies omitted: " + why.Message
	*b = Bodies{reflector: r, left: why}
	r.forgetHistory()
	r.cacher.State().DropBodies()
	r.cacher.Listing().Abort() // the list in progress has bodies
	r.OnBodies(why)
	if r.sub != 0 {
		r.resubscribe()
	}
	return true
}

// dropWanted drops the requests for bodies that are no longer pending.
func (b *Bodies) dropWanted() {
	b.wanted = slices.DeleteFunc(b.wanted, func(key api.Key) bool { return !b.Pending(key) })
}

// subscribe sets the fields of a Subscribe frame that concern bodies. It returns the
// RequestBody frames that must follow the frame.
func (b *Bodies) subscribe(f *wire.Subscribe) (requests []byte) {
	r := b.reflector
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
		f.BodiesFrom = r.cacher.Arena().Key(ref)
		return !b.has(id)
	})
	b.dropWanted()
	for _, key := range b.wanted {
		requests = (&wire.RequestBody{Subscription: r.sub, Key: key}).Append(requests)
	}
	return requests
}

// findPending determines the pending bodies of a new state.
func (b *Bodies) findPending() {
	r := b.reflector
	if !r.cfg.Scope.RowsFirst || r.sub == 0 {
		return // a persisted state has all bodies
	}
	b.pending, b.missing = nil, 0
	if b.left == nil {
		r.cacher.State().Objects(func(id store.ID, ref store.Ref) bool {
			if r.cacher.Arena().Envelope(ref).Body().Codec == api.NoBody {
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
func (b *Bodies) completed() {
	if b.missing > 0 || b.left != nil {
		return
	}
	r := b.reflector
	*b = Bodies{reflector: r}
	r.forgetHistory()
	r.OnBodies(nil)
}

// forgetHistory removes all events from the history window. Some events refer to versions
// without bodies, and a later watch must not receive such events.
func (r *Reflector) forgetHistory() { r.cacher.Watches().ForgetHistory(r.cacher.ResourceVersion()) }

// snapshotBodies stores the bodies of a block of rows. If the state does not have the
// objects and versions of the block, the subscription starts over with a snapshot. After
// a corrupt block, the subscription resumes with the first missing body.
func (r *Reflector) snapshotBodies(f *wire.SnapshotBodies, bytes int) error {
	if err := r.answered("SnapshotBodies"); err != nil {
		return err
	}
	r.asked = r.now
	if r.phase == subscribed {
		r.phase = catchingUp
	}
	r.consumed(bytes)
	b := &r.bodies
	if b.missing == 0 {
		return nil
	}
	if !b.findRows(f) {
		r.startOver(api.Internal("a block of bodies has other versions"))
		return nil
	}
	if b.buffer == nil {
		b.buffer = &wire.Block{}
	}
	list, status := f.Expand(b.buffer, b.known)
	if status != nil {
		r.CorruptBodies++
		r.retry(status)
		return nil
	}
	if status := b.set(list, f.BlockBodies()); status != nil {
		r.startOver(status)
		return nil
	}
	b.dropWanted()
	if f.Last && b.missing > 0 {
		r.startOver(api.Internal("some bodies were not sent"))
	}
	b.completed()
	return nil
}

// set stores the bodies of the rows that findRows found. It skips bodies that are not
// pending.
func (b *Bodies) set(list []wire.RowBody, block wire.BlockBodies) (status *api.Status) {
	c := b.reflector.cacher
	var member store.MemberRef
	if block.Bodies > 0 {
		member.Block = c.Arena().OpenBlock(block, false)
		defer c.Arena().CloseBlock()
	}
	for i := 0; i < len(list) && status == nil; i++ {
		id := b.rows[i]
		if !b.has(id) {
			continue
		}
		if member.Block != 0 {
			member.Index = uint32(2 * i)
		}
		if status = c.Bodies().Set(c.State().Version(id), &list[i], member); status == nil {
			b.settle(id)
		}
	}
	return status
}

// retry ends the subscription, and resumes it after a delay.
func (r *Reflector) retry(why *api.Status) {
	r.out = (&wire.Unsubscribe{Subscription: r.sub}).Append(r.out)
	r.sub, r.status = 0, why
	r.wait(r.backoff.Next(r.now))
}

// findRows sets b.rows and b.known to the IDs and versions of a block's objects. It
// returns false if the state has different objects or versions.
func (b *Bodies) findRows(f *wire.SnapshotBodies) bool {
	arena, state, digest := b.reflector.cacher.Arena(), b.reflector.cacher.State(), uint64(0)
	b.rows, b.known = b.rows[:0], b.known[:0]
	state.Ascend(f.First, func(ref store.Ref) bool {
		if len(b.known) == int(f.Objects) {
			return false
		}
		digest = wire.RowDigest(digest, arena.Key(ref), arena.ResourceVersion(ref))
		b.known = append(b.known, arena.ResourceVersion(ref))
		b.rows = append(b.rows, state.Find(arena.Key(ref)))
		return true
	})
	return len(b.known) == int(f.Objects) && digest == f.Digest
}

// settleChanged ends the wait for the body of an object that was changed or deleted. The
// argument before is the ID of the object before the change. If the new version has no
// body either, the wait continues.
func (b *Bodies) settleChanged(key api.Key, before store.ID) {
	c := b.reflector.cacher
	if id := c.State().Find(key); id == 0 || c.Arena().Envelope(c.State().Version(id)).Body().Codec != api.NoBody {
		b.settle(before)
	}
}
