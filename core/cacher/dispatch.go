package cacher

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// dispatcher hands events to watches and bookmarks to those that are due. It
// reads the history behind the store, so that a slow consumer can hold back
// other consumers for the length of the budget but never the state.
//
// What an event or a tick costs follows the number of watches that it concerns,
// not that of those there are. Watches that it concerns are served in the order
// of their registration.
type dispatcher struct {
	index      watcher.Index[*registration]
	watches    map[*watcher.Watcher]*registration
	dispatched int // position of the next event to hand out
	parked     *parked
	budget     budget
	jitter     *api.Rand
	bookmarks  alarms
	deadlines  alarms
	ahead      alarms // of watches from a version that has not come; see endLost
	// bookmarkTick is when bookmarks are handed out next, zero before the
	// first list.
	bookmarkTick int64
	counts       watcher.Counts
}

// registration is a watch in the dispatcher.
type registration struct {
	*watcher.Watcher
	entry    watcher.Entry[*registration]
	bookmark alarm
	deadline alarm
	ahead    alarm
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
		position := c.dispatched
		c.dispatched++
		c.offer(c.window.At(position), position)
	}
}

// makeRoom ends the wait for slow consumers when too much waits behind it: the
// window, which may halve, must not evict what is not dispatched.
func (c *Cacher) makeRoom() {
	if c.window.End()-c.dispatched >= min(maxBehind, c.window.Capacity()/2) {
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
			for _, found := range c.index.Find(e) {
				found.Value.AddDifference(e)
				c.run(found.Value)
			}
		}
	}
}

func (c *Cacher) sameRevision(a, b store.Ref) bool {
	return a != 0 && b != 0 && c.heap.ResourceVersion(a) == c.heap.ResourceVersion(b)
}

// failWatches ends watches with a 410.
func (c *Cacher) failWatches(status *api.Status, which func(*registration) bool) {
	for _, r := range c.registered() {
		if which(r) {
			r.Fail(status)
			c.run(r)
		}
	}
}

// registered returns all watches in the order of their registration.
func (c *Cacher) registered() []*registration {
	all := make([]*registration, 0, len(c.watches))
	for _, r := range c.watches {
		all = append(all, r)
	}
	inOrder(all)
	return all
}

// beginRelist prepares the watches for a list that empties the history.
func (c *Cacher) beginRelist() {
	for _, r := range c.registered() {
		r.BeginRelist()
		c.run(r)
	}
}

// endLost ends watches from a version beyond the newest that has not come within
// three seconds, although the source has just confirmed that it is at an older one.
// Such a version belongs to a history that was lost, as in a restore from a backup.
// Without progress nothing is known: the source may be disconnected.
func (c *Cacher) endLost() {
	for r := c.ahead.take(c.now + 1); r != nil; r = c.ahead.take(c.now + 1) {
		r.Fail(wire.WatchEndHistoryLost.Expired("resource version " + r.Watermark().String() + " is beyond the newest, " + c.rv.String() +
			": it belongs to a history that the source has lost, list anew"))
		c.run(r)
	}
}

// forgetReached takes watches whose version has come out of those ahead.
func (c *Cacher) forgetReached() {
	for _, a := range slices.Clone(c.ahead) {
		if a.of.Watermark() <= c.rv {
			c.ahead.set(a, 0)
		}
	}
}

// suspectsLost reports whether progress would end a watch now.
func (d *dispatcher) suspectsLost(now int64) bool {
	return len(d.ahead) > 0 && d.ahead.first() <= now
}

func inOrder(list []*registration) {
	api.Sort(list, func(a, b **registration) bool { return (*a).entry.Before(&(*b).entry) })
}

// offer gives the event at a position of the history to the watches that it may
// concern without waiting, and parks it if some have no room and the budget
// allows them to make some. Watches that are behind find it in the history.
func (c *Cacher) offer(e *history.Event, position int) {
	var blocked []*registration
	for _, found := range c.index.Find(e) {
		r := found.Value
		switch {
		case !r.Stalls():
			if !r.TryAdd(e) {
				blocked = append(blocked, r)
			}
		case r.Covers(position):
			continue
		default:
			r.Follow(e, position)
		}
		if !r.Idle() {
			c.run(r)
		}
	}
	if len(blocked) > 0 {
		blocked = c.retry(e, blocked)
	}
	if len(blocked) > 0 {
		c.heap.Retain(e.Current)
		c.heap.Retain(e.Previous)
		c.parked = &parked{*e, blocked, c.now + c.budget.take(c.now)}
		if c.now >= c.parked.deadline {
			c.giveUpParked()
		}
	}
}

// retry offers the event to the watches again and returns those still blocked.
func (c *Cacher) retry(e *history.Event, blocked []*registration) []*registration {
	kept := blocked[:0]
	for _, r := range blocked {
		c.run(r)
		if !r.TryAdd(e) {
			kept = append(kept, r)
		} else {
			c.run(r)
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
		c.run(r)
	}
	c.unpark()
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
	r.entry.Value, r.bookmark.of, r.deadline.of, r.ahead.of = r, r, r, r
	c.index.Add(w.Filter(), &r.entry)
	c.watches[w] = r
	c.schedule(r)
	c.deadlines.set(&r.deadline, w.Deadline())
	if w.Watermark() > c.rv {
		c.ahead.set(&r.ahead, c.now+freshnessMillis)
	}
	c.run(r)
}

// run lets a watch deliver, and takes it out of the registry when it has
// stopped (rules W3, W6).
func (c *Cacher) run(r *registration) {
	if r.Idle() {
		return
	}
	r.Run()
	if r.Stopped() {
		c.forget(r)
	}
}

func (c *Cacher) forget(r *registration) {
	c.index.Remove(&r.entry)
	delete(c.watches, r.Watcher)
	c.bookmarks.set(&r.bookmark, 0)
	c.deadlines.set(&r.deadline, 0)
	c.ahead.set(&r.ahead, 0)
}

func (c *Cacher) schedule(r *registration) {
	next, _ := r.NextBookmark(c.now)
	c.bookmarks.set(&r.bookmark, next)
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
	for c.parked == nil { // not inside a revision
		r := c.deadlines.take(c.now + 1)
		if r == nil {
			break
		}
		r.End(wire.WatchEndTimeout, nil, false)
		c.run(r)
	}
	if c.bookmarkTick != 0 && c.now >= c.bookmarkTick && c.parked == nil {
		c.sendBookmarks()
		c.scheduleTick()
	}
}

// sendBookmarks offers one to every watch whose time has come, in buckets of a
// second (rule C32), and schedules the next. Nothing is parked, so every watch
// has been offered everything up to the bookmark's version (rule C30).
func (c *Cacher) sendBookmarks() {
	var due []*registration
	end := (c.now/bookmarkTickMillis + 1) * bookmarkTickMillis
	for r := c.bookmarks.take(end); r != nil; r = c.bookmarks.take(end) {
		due = append(due, r)
	}
	inOrder(due)
	for _, r := range due {
		r.AddBookmark(c.rv)
		c.run(r)
		c.schedule(r)
	}
}

// nextTick is when there is something to do. Bookmarks count only while a
// watch is scheduled for one, and wait while an event is parked.
func (d *dispatcher) nextTick(now int64) int64 {
	next := d.deadlines.first()
	if d.parked != nil {
		return d.parked.deadline
	}
	if bookmark := d.bookmarks.first(); bookmark != 0 {
		next = earlier(next, max(d.bookmarkTick, bookmark/bookmarkTickMillis*bookmarkTickMillis))
	}
	if !d.suspectsLost(now) {
		next = earlier(next, d.ahead.first())
	}
	return next
}
