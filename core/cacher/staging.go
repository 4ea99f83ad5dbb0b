package cacher

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// staging is the next state while a list is under way. It shares the heap with
// the present one, so an object that did not change is held once.
type staging struct {
	state  *store.Store
	faults faults
	older  []api.Key // of objects that came in an older version than the one held
}

// BeginList starts a new state beside the present one, which readers go on
// seeing until EndList. A list that was under way is dropped.
func (c *Cacher) BeginList() {
	c.AbortList()
	c.staging = &staging{state: store.New(c.heap)}
}

// Expect says about how many objects the list under way will have, of which
// only so many are believed.
func (c *Cacher) Expect(objects uint64) {
	const believed = 1 << 20
	c.staging.state.Expect(int(min(objects, believed)))
}

// Listing reports whether a list is under way, and how many objects it has.
func (c *Cacher) Listing() (objects int, ok bool) {
	if c.staging == nil {
		return 0, false
	}
	return c.staging.state.Len(), true
}

// AbortList drops the list that is under way, if any.
func (c *Cacher) AbortList() {
	if c.staging != nil {
		c.staging.state.Clear()
		c.staging = nil
	}
}

// ListObject adds an object to the list under way. An older version than the
// one it has is ignored. The status says that the base of its body is missing.
func (c *Cacher) ListObject(p *Put) *api.Status {
	key := p.Envelope.Key()
	c.staging.faults.clear(key, p.ResourceVersion)
	behind := c.staging.state.Behind(key) // as nearly all are: lists come in the order of keys
	if !behind {
		if staged := c.staging.state.Get(key); staged != 0 && c.heap.ResourceVersion(staged) >= p.ResourceVersion {
			return nil
		}
	}
	ref := c.state.Get(key)
	if ref != 0 && c.heap.ResourceVersion(ref) > p.ResourceVersion {
		c.staging.older = append(c.staging.older, api.Key(strings.Clone(string(key))))
	}
	if c.sameVersion(ref, p) {
		c.heap.Retain(ref)
	} else {
		var status *api.Status
		if ref, status = c.store(p, ref); status != nil {
			return status
		}
	}
	if behind {
		c.staging.state.Append(ref)
	} else {
		c.heap.Release(c.staging.state.Set(ref))
	}
	return nil
}

// sameVersion: resource version and uid say that it is the same content; the
// codec says that it is as useful, since a body may have been left out before.
func (c *Cacher) sameVersion(ref store.Ref, p *Put) bool {
	return ref != 0 && c.heap.ResourceVersion(ref) == p.ResourceVersion &&
		string(c.heap.Envelope(ref)) == string(p.Envelope) && c.heap.Dictionary(ref) == c.dictionaries.current.number &&
		(c.heap.Base(ref) == 0) == (p.Base.ResourceVersion == 0) &&
		(p.Base.ResourceVersion == 0 || c.isBase(c.heap.Base(ref), &p.Base))
}

// ListDelete takes an object out of the list under way, unless the list has a
// newer version of it.
func (c *Cacher) ListDelete(key api.Key, rv api.ResourceVersion) {
	c.staging.faults.clear(key, rv)
	if ref := c.staging.state.Get(key); ref != 0 && c.heap.ResourceVersion(ref) < rv {
		c.heap.Release(c.staging.state.Remove(key))
	}
}

// EndList makes the list the state, in one step, as of rv (rules H6, R11).
// Watches see the difference as events in the order of resource versions, and
// last, as of rv, the deletions and whatever else was missed.
//
// A list that is older than what was seen before means that the source has gone
// back in time. The watches end: nothing that follows could be told to them in
// order. So do watches from a version between the two states, which lay in the
// future until now: the difference is not what their consumers have missed.
func (c *Cacher) EndList(rv api.ResourceVersion, now int64) {
	c.now = max(c.now, now)
	c.finishDispatch()
	old := c.state
	if c.listed == c.source { // what was good in another history says nothing about this one
		c.keepFaulty(old)
		c.keepNewer(old, rv)
		c.leaveOutlived(old, rv)
	}
	c.listed = c.source
	c.state, c.faults.list = c.staging.state, c.staging.faults.list
	c.faults.next += c.staging.faults.next
	c.staging = nil
	c.failWatches(otherHistory(), func(r *registration) bool {
		return rv < c.rv || r.Watermark() > c.rv && r.Watermark() < rv
	})
	c.beginRelist()
	var changes []history.Event
	if len(c.watches) > 0 {
		changes = c.difference(old, rv)
	}
	c.endRests()
	c.window.Relist(rv)
	c.dispatched = c.window.End()
	for _, o := range c.observers {
		o.Replaced()
	}
	c.rv = rv
	c.offerAll(changes)
	old.Clear()
	c.ready, c.held = true, false
	c.generation++
	c.advance(rv)
	c.progress()
	c.wakeEveryone()
	c.restartClock()
}

// keepFaulty carries over the last good version of objects whose newest one the
// list could not read (rule C53).
func (c *Cacher) keepFaulty(old *store.Store) {
	for _, f := range c.staging.faults.list {
		if ref := old.Get(f.Key); ref != 0 && c.staging.state.Get(f.Key) == 0 && !f.TakenBack() {
			c.staging.state.Set(c.heap.Retain(ref))
		}
	}
}

// keepNewer carries over versions that are newer than what the list has of their
// objects. That is so when the newest one cannot be read, and whoever made the
// list has an older last good version than we do: nothing goes back in time.
func (c *Cacher) keepNewer(old *store.Store, rv api.ResourceVersion) {
	if rv < c.rv {
		return // the whole state goes back
	}
	for _, key := range c.staging.older {
		listed, held := c.staging.state.Get(key), old.Get(key)
		if listed != 0 && held != 0 && c.heap.ResourceVersion(listed) < c.heap.ResourceVersion(held) {
			c.heap.Release(c.staging.state.Set(c.heap.Retain(held)))
		}
	}
}

// leaveOutlived leaves out last good versions of objects that cannot be read when
// we know that they were deleted since: our state is of a later version, and had
// them no more. Whoever made the list did not see the deletion, which lies between
// that version and the one that cannot be read.
func (c *Cacher) leaveOutlived(old *store.Store, rv api.ResourceVersion) {
	if rv < c.rv {
		return // the whole state goes back
	}
	for _, f := range c.staging.faults.list {
		listed := c.staging.state.Get(f.Key)
		if listed != 0 && old.Get(f.Key) == 0 && c.heap.ResourceVersion(listed) <= c.rv {
			c.heap.Release(c.staging.state.Remove(f.Key))
		}
	}
}

// difference lists what changed from the old state to the present one. The
// events borrow the counts of the two stores.
func (c *Cacher) difference(old *store.Store, rv api.ResourceVersion) []history.Event {
	var changes []history.Event
	c.state.Ascend("", func(ref store.Ref) bool {
		if previous := old.Get(c.heap.Key(ref)); previous != ref {
			at := c.heap.ResourceVersion(ref)
			if at <= c.rv {
				at = rv
			}
			changes = append(changes, history.Event{ResourceVersion: at, Current: ref, Previous: previous, Millis: c.now})
		}
		return true
	})
	api.Sort(changes, func(a, b *history.Event) bool { return a.ResourceVersion < b.ResourceVersion })
	old.Ascend("", func(ref store.Ref) bool {
		if c.state.Get(c.heap.Key(ref)) == 0 {
			changes = append(changes, history.Event{
				ResourceVersion: rv, Previous: ref, Millis: c.now, FinalStateUnknown: true,
			})
		}
		return true
	})
	return changes
}
