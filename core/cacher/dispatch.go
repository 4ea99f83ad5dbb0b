package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// dispatcher hands events to watches and bookmarks to those that are due. It
// reads the history behind the store, so that a slow consumer can hold back
// other consumers for the length of the budget but never the state.
type dispatcher struct {
	watchers   []*registration
	dispatched int // position of the next event to hand out
	parked     *parked
	budget     budget
	jitter     *api.Rand
	// bookmarkTick is when bookmarks are handed out next, zero before the
	// first list.
	bookmarkTick int64
	// Terminated counts the watches that were ended because their consumer was
	// too slow.
	Terminated int
}

// registration is a watch in the dispatcher.
type registration struct {
	*watcher.Watcher
	nextBookmark int64 // zero when not scheduled
}

// parked is an event that some consumers had no room for. Until they have, or
// the deadline passes and they are terminated, dispatch stands still (rule C26).
type parked struct {
	event    history.Event
	blocked  []*registration
	deadline int64
}

const (
	bookmarkTickMillis = 1000
	// maxBehind bounds the events that wait behind a parked one (rule C23).
	// The source cannot be held back here, so past it the wait is over.
	maxBehind = 100
)

// dispatch hands out events until it has caught up or is parked.
func (c *Cacher) dispatch() {
	for c.parked == nil && c.dispatched < c.window.End() {
		e := c.window.At(c.dispatched)
		c.dispatched++
		c.offer(e)
	}
}

// makeRoom ends the wait for slow consumers when too much waits behind it: the
// window, which may halve, must not evict what is not dispatched.
func (c *Cacher) makeRoom() {
	if c.parked != nil && c.window.End()-c.dispatched >= min(maxBehind, c.window.Capacity()/2) {
		c.finishDispatch()
	}
}

// finishDispatch hands out everything there is, whoever is blocked.
func (c *Cacher) finishDispatch() {
	for c.parked != nil {
		c.giveUpParked()
		c.dispatch()
	}
}

// offerAll hands out the events of a relist, which are not in the window. That
// a version is held in another form now, such as with a body, is no news to a
// watch.
func (c *Cacher) offerAll(events []history.Event) {
	for i := range events {
		if e := &events[i]; !c.sameRevision(e.Current, e.Previous) {
			for _, r := range c.watchers {
				r.AddDifference(e)
				r.Run()
			}
		}
	}
}

func (c *Cacher) sameRevision(a, b store.Ref) bool {
	return a != 0 && b != 0 && c.heap.ResourceVersion(a) == c.heap.ResourceVersion(b)
}

func (c *Cacher) stopWatches() {
	for _, r := range c.watchers {
		r.Stop(false)
		r.Run()
	}
	c.forgetStopped()
}

// offer gives an event to every watch without waiting, and parks it if some
// have no room and the budget allows them to make some.
func (c *Cacher) offer(e *history.Event) {
	var blocked []*registration
	for i, r := range c.watchers {
		if api.Mutated(api.DispatchMissesWatcher) && i == 2 {
			continue
		}
		if !r.TryAdd(e) {
			blocked = append(blocked, r)
		}
		r.Run()
	}
	blocked = c.retry(e, blocked)
	if len(blocked) > 0 {
		c.heap.Retain(e.Current)
		c.heap.Retain(e.Previous)
		c.parked = &parked{*e, blocked, c.now + c.budget.take(c.now)}
		if c.now >= c.parked.deadline {
			c.giveUpParked()
		}
	}
	c.forgetStopped()
}

// retry offers the event to the watches again and returns those still blocked.
func (c *Cacher) retry(e *history.Event, blocked []*registration) []*registration {
	kept := blocked[:0]
	for _, r := range blocked {
		r.Run()
		if !r.TryAdd(e) {
			kept = append(kept, r)
		} else {
			r.Run()
		}
	}
	return kept
}

// Resume tells the dispatcher that a consumer has taken something: a parked
// event may find room now.
func (c *Cacher) Resume() {
	if c.parked == nil {
		return
	}
	c.parked.blocked = c.retry(&c.parked.event, c.parked.blocked)
	if len(c.parked.blocked) == 0 {
		c.unpark()
		c.dispatch()
	}
}

// giveUpParked gives every blocked watch one more chance and terminates those
// that are blocked still.
func (c *Cacher) giveUpParked() {
	if c.parked == nil {
		return
	}
	for _, r := range c.retry(&c.parked.event, c.parked.blocked) {
		r.Terminate()
		r.Run()
		c.Terminated++
	}
	c.unpark()
	c.forgetStopped()
}

// unpark returns the part of the budget that was not used (rule C27).
func (c *Cacher) unpark() {
	c.budget.giveBack(c.parked.deadline - c.now)
	c.heap.Release(c.parked.event.Current)
	c.heap.Release(c.parked.event.Previous)
	c.parked = nil
}

func (c *Cacher) register(w *watcher.Watcher) {
	r := &registration{Watcher: w}
	c.watchers = append(c.watchers, r)
	c.schedule(r)
	w.Run()
}

// forgetStopped takes stopped watches out of the registry (rules W3, W6).
func (c *Cacher) forgetStopped() {
	for i := 0; i < len(c.watchers); i++ {
		if w := c.watchers[i].Watcher; w.Stopped() {
			c.watchers = without(c.watchers, c.watchers[i])
			i--
		}
	}
}

func (c *Cacher) schedule(r *registration) {
	next, ok := r.NextBookmark(c.now)
	if !ok {
		next = 0
	}
	r.nextBookmark = next
}

// restartClock starts the bookmark clock with the first list (rule C31).
func (c *Cacher) restartClock() {
	if c.bookmarkTick == 0 {
		c.budget.since = c.now
		c.scheduleTick()
	}
}

func (c *Cacher) scheduleTick() {
	c.bookmarkTick = c.now + bookmarkTickMillis + c.jitter.Int63n(bookmarkTickMillis/4)
}

func (c *Cacher) tickDispatcher() {
	if c.parked != nil && c.now >= c.parked.deadline {
		c.giveUpParked()
		c.dispatch()
	}
	for _, r := range c.watchers {
		if r.Expired(c.now) && c.parked == nil { // not inside a revision
			r.Stop(false)
			r.Run()
		}
	}
	c.forgetStopped()
	if c.bookmarkTick != 0 && c.now >= c.bookmarkTick && c.parked == nil {
		c.sendBookmarks()
		c.scheduleTick()
	}
}

// sendBookmarks offers one to every watch whose time has come, in buckets of a
// second (rule C32), and schedules the next. Nothing is parked, so every watch
// has been offered everything up to the bookmark's version (rule C30).
func (c *Cacher) sendBookmarks() {
	for _, r := range c.watchers {
		if r.nextBookmark == 0 || r.nextBookmark/bookmarkTickMillis > c.now/bookmarkTickMillis {
			continue
		}
		r.AddBookmark(c.rv)
		r.Run()
		c.schedule(r)
	}
}

// nextTick is when there is something to do. Bookmarks count only while a
// watch is scheduled for one, and wait while an event is parked.
func (d *dispatcher) nextTick() int64 {
	var parked int64
	if d.parked != nil {
		parked = d.parked.deadline
	}
	next := parked
	for _, r := range d.watchers {
		if r.nextBookmark != 0 && d.parked == nil {
			next = earlier(next, max(d.bookmarkTick, r.nextBookmark/bookmarkTickMillis*bookmarkTickMillis))
		}
		if at := r.Deadline(); at != 0 {
			next = earlier(next, max(at, parked))
		}
	}
	return next
}
