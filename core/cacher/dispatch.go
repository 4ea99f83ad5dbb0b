package cacher

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// dispatcher delivers events to watches, and bookmarks to those that are due. It
// reads the history behind the store. A slow consumer can therefore delay other
// consumers within the time budget, but never the state.
//
// The cost of an event or a tick is proportional to the number of watches it
// matches, not to the number registered. Watches are served in the order of their
// registration.
type dispatcher struct {
	index      watcher.Index[*registration]
	watches    map[*watcher.Watcher]*registration
	dispatched int // position of the next event to dispatch
	parked     *parked
	budget     budget
	jitter     *lite.Rand
	bookmarks  alarms
	deadlines  alarms
	ahead      alarms // watches that start at a future version; see endLost
	// bookmarkTick is when bookmarks are sent next, or zero before the first
	// list.
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

// parked is an event that some consumers have no room for. Dispatch stops until
// they have room, or until the deadline passes and they are terminated (rule
// C26).
type parked struct {
	event    history.Event
	blocked  []*registration
	deadline int64
}

const (
	bookmarkTickMillis = 1000
	// maxBehind limits the events that wait behind a parked event (rule C23). The
	// source cannot be slowed down, so exceeding the limit ends the wait.
	maxBehind = 100
)

// dispatch dispatches events until none are left or one is parked.
func (c *Cacher) dispatch() {
	for c.parked == nil && c.dispatched < c.window.End() {
		position := c.dispatched
		c.dispatched++
		c.offer(c.window.At(position), position)
	}
}

// makeRoom ends the wait for slow consumers if too many events wait: the window,
// which may halve, must not evict undispatched events.
func (c *Cacher) makeRoom() {
	if c.window.End()-c.dispatched >= min(maxBehind, c.window.Capacity()/2) {
		c.finishDispatch()
	}
}

// finishDispatch dispatches all events and terminates blocked watches.
func (c *Cacher) finishDispatch() {
	for c.parked != nil {
		c.giveUpParked()
		c.dispatch()
	}
}

// offerAll delivers the events of a relist, which are not in the window. It skips
// objects whose resource version is unchanged and whose stored form alone
// differs, for example by a body.
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

// endLost ends watches from a future version that the source has not reached
// within three seconds, if the source has just confirmed an older one. Such a
// version belongs to a lost history, as after a restore from a backup. Without
// progress the watch stays open, because the source may be disconnected.
func (c *Cacher) endLost() {
	for r := c.ahead.take(c.now + 1); r != nil; r = c.ahead.take(c.now + 1) {
		r.Fail(api.WatchEndHistoryLost.Expired("resource version " + r.Watermark().String() + " is beyond the newest, " + c.rv.String() +
			"; the source has lost the history it belongs to, list again"))
		c.run(r)
	}
}

// forgetReached removes the alarms of watches whose start version was reached.
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
	lite.Sort(list, func(a, b **registration) bool { return (*a).entry.Before(&(*b).entry) })
}

// offer delivers the event at a position of the history, without waiting, to the
// watches that it may match. It parks the event if some have no room and the
// budget allows a wait. Stalling watches that are behind read the event from the
// history later.
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

// Resume reports that a consumer has taken an event. It retries a parked event.
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

// giveUpParked retries every blocked watch once and terminates those still
// blocked.
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

// unpark returns the unused part of the budget (rule C27).
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

// run lets a watch deliver, and removes it from the registry if it has stopped
// (rules W3, W6).
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
	for c.parked == nil { // a deadline must not end a watch inside a revision
		r := c.deadlines.take(c.now + 1)
		if r == nil {
			break
		}
		r.End(api.WatchEndTimeout, nil, false)
		c.run(r)
	}
	if c.bookmarkTick != 0 && c.now >= c.bookmarkTick && c.parked == nil {
		c.sendBookmarks()
		c.scheduleTick()
	}
}

// sendBookmarks offers a bookmark to every watch that is due within the current
// second (rule C32), and schedules the next one. No event is parked, so every
// watch has been offered all events up to the bookmark's version (rule C30).
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

// nextTick returns the time of the next work, or zero. Bookmarks wait while an
// event is parked.
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
