package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// staging is the next state while a list is in progress. It shares the arena with
// the current state, so unchanged objects are stored once.
type staging struct {
	state  *store.Store
	faults faults
	older  []api.Key // keys of objects that the list has in an older version than the state
}

// Listing replaces the state of a cacher with a list.
type Listing struct {
	cacher  *Cacher
	staging *staging // nil if no list is in progress
}

// Begin starts a list, and discards a list in progress. Readers see the current state
// until End.
func (l *Listing) Begin() {
	c := l.cacher
	l.Abort()
	l.staging = &staging{state: store.New(c.arena)}
}

// AddSegment adds a segment of objects to the list in progress, like Store.AddSegment.
func (l *Listing) AddSegment(first api.Key, segment store.Segment) bool {
	return l.staging.state.AddSegment(first, segment)
}

// Expect allocates space for the announced number of objects of the list in progress. It
// allocates at most about a megabyte, because unused space does not count toward the
// memory limit.
func (l *Listing) Expect(objects uint64) {
	const believed = 1 << 16
	l.staging.state.Expect(int(min(objects, believed)))
}

// Len returns the number of objects of the list in progress, and whether a list is in
// progress.
func (l *Listing) Len() (objects int, ok bool) {
	if l.staging == nil {
		return 0, false
	}
	return l.staging.state.Len(), true
}

// Last returns the object with the last key in the list in progress, or zero.
func (l *Listing) Last() store.Ref {
	if l.staging == nil {
		return 0
	}
	return l.staging.state.Last()
}

// Abort discards the list in progress, if any.
//
//go:noinline
func (l *Listing) Abort() {
	if l.staging != nil {
		l.staging.state.Clear()
		l.staging = nil
	}
}

// Object adds an object to the list in progress. It ignores a version that is not newer
// than the one in the list. It fails if the base of the body is missing.
func (l *Listing) Object(p *Update) *api.Status {
	c := l.cacher
	key := p.Envelope.Key()
	l.staging.faults.clear(key, p.ResourceVersion)
	behind := l.staging.state.Behind(key) // the common case: lists are in key order
	if !behind {
		if staged := l.staging.state.Get(key); staged != 0 && c.arena.ResourceVersion(staged) >= p.ResourceVersion {
			return nil
		}
	}
	ref := c.state.Get(key)
	if ref != 0 && c.arena.ResourceVersion(ref) > p.ResourceVersion {
		l.staging.older = append(l.staging.older, api.Key(lite.Clone(string(key))))
	}
	if l.sameVersion(ref, p) {
		c.arena.Retain(ref)
	} else {
		var status *api.Status
		if ref, status = c.store(p, ref); status != nil {
			return status
		}
	}
	if behind {
		l.staging.state.Append(ref)
	} else {
		c.arena.Release(l.staging.state.Set(ref))
	}
	return nil
}

// sameVersion reports whether the list can reuse the stored version ref for p. Equal
// envelopes mean equal content. The comparison includes the codec, because the stored
// version may lack a body.
func (l *Listing) sameVersion(ref store.Ref, p *Update) bool {
	c := l.cacher
	return ref != 0 && c.arena.ResourceVersion(ref) == p.ResourceVersion &&
		c.arena.Equals(ref, p.Envelope) && c.bodies.Has(ref, &p.Base)
}

// Delete removes an object from the list in progress, unless the list has a
// newer version.
func (l *Listing) Delete(key api.Key, rv api.ResourceVersion) {
	c := l.cacher
	l.staging.faults.clear(key, rv)
	if ref := l.staging.state.Get(key); ref != 0 && c.arena.ResourceVersion(ref) < rv {
		c.arena.Release(l.staging.state.Remove(key))
	}
}

// End replaces the state with the list in one step, and sets the resource version to rv
// (rules H6, R11). Watches receive the difference as events in order of resource version.
// A watch with [api.PolicyTerminate] that would receive a deletion ends instead (rule C3).
//
// If rv is older than the current version, the source has gone back in time. All watches
// end, because no event sequence leads to the new state. Watches that started at a
// version between the current one and rv also end, because the difference does not match
// what their consumers missed. All watches also end if rv is the current version and the
// state differs.
func (l *Listing) End(rv api.ResourceVersion, now int64) {
	c := l.cacher
	c.at.Now = max(c.at.Now, now)
	c.watches.Finish()
	old := c.state
	if c.upstream.listed == c.upstream.clusterID { // last good versions of another history are not comparable
		l.keepLastGood(old)
		l.keepNewer(old, rv)
		l.dropStaleFaults(old, rv)
	}
	c.upstream.listed = c.upstream.clusterID
	c.state, c.faults.list = l.staging.state, l.staging.faults.list
	c.faults.next += l.staging.faults.next
	l.staging = nil
	c.watches.Fail(otherHistory(), func(w *watcher.Watcher) bool {
		return rv < c.at.Version || w.Watermark() > c.at.Version && w.Watermark() < rv
	})
	c.watches.BeginRelist()
	var changes []history.Event
	if c.watches.Len() > 0 {
		changes = c.difference(old, rv)
	}
	if rv == c.at.Version && len(changes) > 0 {
		c.watches.Fail(otherHistory(), nil)
	}
	c.followers.EndRests()
	c.watches.ForgetHistory(rv)
	for _, o := range c.observers {
		o.Replaced()
	}
	c.at.Version = rv
	c.watches.OfferAll(changes)
	old.Clear()
	c.ready, c.waits.held = true, false
	c.advance(rv)
	c.progress()
	c.followers.WakeAll()
	c.watches.StartClock()
}

// keepLastGood keeps the last good version of each object whose newest version the list
// reports as unreadable (rule C53).
func (l *Listing) keepLastGood(old *store.Store) {
	c := l.cacher
	for _, f := range l.staging.faults.list {
		if ref := old.Get(f.Key); ref != 0 && l.staging.state.Get(f.Key) == 0 && !f.Retracted() {
			l.staging.state.Set(c.arena.Retain(ref))
		}
	}
}

// keepNewer keeps versions that are newer than those in the list. The list contains
// an older version if the newest one is unreadable and the sender of the list has an
// older last good version. Without keepNewer, a single object would go back in time.
func (l *Listing) keepNewer(old *store.Store, rv api.ResourceVersion) {
	c := l.cacher
	if rv < c.at.Version {
		return // the whole state goes back in time
	}
	for _, key := range l.staging.older {
		listed, held := l.staging.state.Get(key), old.Get(key)
		if listed != 0 && held != 0 && c.arena.ResourceVersion(listed) < c.arena.ResourceVersion(held) {
			c.arena.Release(l.staging.state.Set(c.arena.Retain(held)))
		}
	}
}

// dropStaleFaults removes the listed versions of unreadable objects that are known to be
// deleted. These objects are missing from the old state, although that state is newer
// than their listed versions. The sender of the list missed the deletion, which happened
// before the unreadable version.
func (l *Listing) dropStaleFaults(old *store.Store, rv api.ResourceVersion) {
	c := l.cacher
	if rv < c.at.Version {
		return // the whole state goes back in time
	}
	for _, f := range l.staging.faults.list {
		listed := l.staging.state.Get(f.Key)
		if listed != 0 && old.Get(f.Key) == 0 && c.arena.ResourceVersion(listed) <= c.at.Version {
			c.arena.Release(l.staging.state.Remove(f.Key))
		}
	}
}

// difference returns the changes from the old state to the current one, whose version is
// rv. The events add no references, so they are valid only until old is cleared. Objects of
// the same version are unchanged. Only their stored form may differ, for example
// because an object now has a body.
//
// The versions of missed changes and of deletions are unknown. These events have the version
// before rv, and a change at rv itself comes last. A consumer that resumes after an earlier
// event receives a 410, because the history starts at rv. If rv directly follows the version
// of the old state, all events have the version rv, because they belong to one revision.
func (c *Cacher) difference(old *store.Store, rv api.ResourceVersion) []history.Event {
	unknown := rv
	if rv > c.at.Version+1 {
		unknown = rv - 1
	}
	var changes []history.Event
	c.state.Ascend("", func(ref store.Ref) bool {
		previous, at := old.Get(c.arena.Key(ref)), c.arena.ResourceVersion(ref)
		if previous == 0 || c.arena.ResourceVersion(previous) != at {
			if at <= c.at.Version {
				at = unknown
			}
			changes = append(changes, history.Event{ResourceVersion: at, Current: ref, Previous: previous, Millis: c.at.Now})
		}
		return true
	})
	old.Ascend("", func(ref store.Ref) bool {
		if c.state.Get(c.arena.Key(ref)) == 0 {
			changes = append(changes, history.Event{
				ResourceVersion: unknown, Previous: ref, Millis: c.at.Now, FinalStateUnknown: true,
			})
		}
		return true
	})
	lite.Sort(changes, func(a, b *history.Event) bool { return a.ResourceVersion < b.ResourceVersion })
	return changes
}
