package dispatch

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// Moment is the time in milliseconds and the resource version that a collection has
// reached. The owner of the collection advances the moment.
type Moment struct {
	Now     int64
	Version api.ResourceVersion
}

// Dispatcher delivers events to watches, and bookmarks when they are due. It reads events
// from the window, and can be behind the state of the collection. A slow consumer can
// therefore delay other consumers within the time budget, but never the state.
//
// The cost of an event or a tick is proportional to the number of watches it
// matches, not to the number registered. Watches are served in the order of their
// registration.
type Dispatcher struct {
	arena      *store.Arena
	window     *history.Window
	at         *Moment
	index      Index[*registration]
	watches    map[*watcher.Watcher]*registration
	dispatched int // position of the next event to dispatch
	parked     *parked
	budget     budget
	jitter     *lite.Rand
	bookmarks  alarms
	deadlines  alarms
	ahead      alarms // watches that start at a future version; see EndLost
	// bookmarkTick is when bookmarks are sent next, or zero before the first
	// list.
	bookmarkTick int64
	counts       watcher.Counts
}

// Init initializes a dispatcher without watches. The dispatcher reads events from the
// window. The argument at points to the moment that the collection has reached. The
// seed varies the times of bookmarks.
func (d *Dispatcher) Init(arena *store.Arena, window *history.Window, at *Moment, seed uint64) {
	d.arena, d.window, d.at = arena, window, at
	d.index = NewIndex[*registration](arena)
	d.watches = map[*watcher.Watcher]*registration{}
	d.jitter = lite.NewRand(seed)
}

// registration is a watch of the dispatcher, with its entry in the index and its alarms.
type registration struct {
	*watcher.Watcher
	entry    Entry[*registration]
	bookmark alarm
	deadline alarm
	ahead    alarm
}

// parked is an event that some consumers have no room for. Dispatch stops until these
// consumers have room, or until the deadline passes and their watches are terminated
// (rule C26).
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
	// lostMillis is how long a watch waits for a future version before progress may
	// end it (rule C34).
	lostMillis = 3000
)

// Dispatch dispatches events until none are left or one is parked.
func (d *Dispatcher) Dispatch() {
	for d.parked == nil && d.dispatched < d.window.End() {
		position := d.dispatched
		d.dispatched++
		d.offer(d.window.At(position), position)
	}
}

// MakeRoom ends the wait for slow consumers if too many events wait behind a parked
// event. Call it before an event is appended to the window.
func (d *Dispatcher) MakeRoom() {
	if d.parked != nil {
		d.makeRoom()
	}
}

// makeRoom ends the wait for slow consumers if too many events wait. The window may
// halve its capacity, but must not evict undispatched events.
func (d *Dispatcher) makeRoom() {
	if d.window.End()-d.dispatched >= min(maxBehind, d.window.Capacity()/2) {
		d.Finish()
	}
}

// Finish dispatches all events and terminates blocked watches.
func (d *Dispatcher) Finish() {
	for d.parked != nil {
		d.giveUpParked()
		d.Dispatch()
	}
}

// ForgetHistory removes all events from the window, which then starts at rv. Watches do
// not receive events that were not dispatched.
func (d *Dispatcher) ForgetHistory(rv api.ResourceVersion) {
	d.window.Relist(rv)
	d.dispatched = d.window.End()
}

// OfferAll delivers the events of a relist, which are not in the window. It first ends each
// watch that has watcher.Options.Kubernetes set and would receive a deletion at an unknown
// version. Those watches receive no part of the relist.
func (d *Dispatcher) OfferAll(events []history.Event) {
	for i := range events {
		if e := &events[i]; e.Current == 0 || d.arena.ResourceVersion(e.Current) != e.ResourceVersion {
			for _, found := range d.index.Find(e) {
				found.Value.EndBeforeDeletion(e)
				d.run(found.Value)
			}
		}
	}
	for i := range events {
		e := &events[i]
		for _, found := range d.index.Find(e) {
			found.Value.AddDifference(e)
			d.run(found.Value)
		}
	}
}

// Fail ends watches with the given status, which must be a 410. It ends the watches that
// the function "which" selects, or all watches if the function is nil.
func (d *Dispatcher) Fail(status *api.Status, which func(*watcher.Watcher) bool) {
	for _, r := range d.registered() {
		if which == nil || which(r.Watcher) {
			r.Fail(status)
			d.run(r)
		}
	}
}

// registered returns all watches in the order of their registration.
func (d *Dispatcher) registered() []*registration {
	all := make([]*registration, 0, len(d.watches))
	for _, r := range d.watches {
		all = append(all, r)
	}
	inOrder(all)
	return all
}

// BeginRelist prepares the watches for a list that empties the history.
func (d *Dispatcher) BeginRelist() {
	for _, r := range d.registered() {
		r.BeginRelist()
		d.run(r)
	}
}

// EndLost ends watches that start at a future version that the source has not reached
// within three seconds. Call it when the source has just confirmed an older version.
// The future version then belongs to a lost history, as after a restore from a
// backup. Without progress the watch stays open, because the source may be
// disconnected.
func (d *Dispatcher) EndLost() {
	for r := d.ahead.take(d.at.Now + 1); r != nil; r = d.ahead.take(d.at.Now + 1) {
		r.Fail(api.WatchEndHistoryLost.Expired("resource version " + r.Watermark().String() + " is beyond the newest, " + d.at.Version.String() +
			"; the source has lost the history it belongs to, list again"))
		d.run(r)
	}
}

// Reached updates the dispatcher after the resource version has advanced.
func (d *Dispatcher) Reached() {
	if len(d.ahead) > 0 {
		d.forgetReached()
	}
}

// forgetReached removes the alarms of watches whose start version was reached.
func (d *Dispatcher) forgetReached() {
	for _, a := range slices.Clone(d.ahead) {
		if a.of.Watermark() <= d.at.Version {
			d.ahead.set(a, 0)
		}
	}
}

// SuspectsLost reports whether EndLost would end a watch now.
func (d *Dispatcher) SuspectsLost() bool {
	return len(d.ahead) > 0 && d.ahead.first() <= d.at.Now
}

func inOrder(list []*registration) {
	lite.Sort(list, func(a, b **registration) bool { return (*a).entry.Before(&(*b).entry) })
}

// offer delivers the event at a position of the history, without waiting, to the watches
// that it may match. It parks the event if some of these watches have no room and the
// budget allows a wait. Stalling watches that are behind read the event from the history
// later.
func (d *Dispatcher) offer(e *history.Event, position int) {
	var blocked []*registration
	for _, found := range d.index.Find(e) {
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
			d.run(r)
		}
	}
	if len(blocked) > 0 {
		blocked = d.retry(e, blocked)
	}
	if len(blocked) > 0 {
		d.arena.Retain(e.Current)
		d.arena.Retain(e.Previous)
		d.parked = &parked{*e, blocked, d.at.Now + d.budget.take(d.at.Now)}
		if d.at.Now >= d.parked.deadline {
			d.giveUpParked()
		}
	}
}

// retry offers the event to the watches again and returns those still blocked.
func (d *Dispatcher) retry(e *history.Event, blocked []*registration) []*registration {
	kept := blocked[:0]
	for _, r := range blocked {
		d.run(r)
		if !r.TryAdd(e) {
			kept = append(kept, r)
		} else {
			d.run(r)
		}
	}
	return kept
}

// Resume retries a parked event. Call it after a consumer has accepted events.
func (d *Dispatcher) Resume() {
	if d.parked == nil {
		return
	}
	d.parked.blocked = d.retry(&d.parked.event, d.parked.blocked)
	if len(d.parked.blocked) == 0 {
		d.unpark()
		d.Dispatch()
	}
}

// giveUpParked retries every blocked watch once and terminates those still
// blocked.
func (d *Dispatcher) giveUpParked() {
	if d.parked == nil {
		return
	}
	for _, r := range d.retry(&d.parked.event, d.parked.blocked) {
		r.Terminate()
		d.run(r)
	}
	d.unpark()
}

// unpark releases the parked event, and returns the unused part of the budget (rule C27).
func (d *Dispatcher) unpark() {
	d.budget.giveBack(d.parked.deadline - d.at.Now)
	d.arena.Release(d.parked.event.Current)
	d.arena.Release(d.parked.event.Previous)
	d.parked = nil
}

// Start starts a watch. The dispatcher sets opt.Counts.
func (d *Dispatcher) Start(opt watcher.Options) *watcher.Watcher {
	opt.Counts = &d.counts
	w := watcher.New(d.arena, opt)
	d.register(w)
	return w
}

func (d *Dispatcher) register(w *watcher.Watcher) {
	r := &registration{Watcher: w}
	r.entry.Value, r.bookmark.of, r.deadline.of, r.ahead.of = r, r, r, r
	d.index.Add(w.Filter(), &r.entry)
	d.watches[w] = r
	d.schedule(r)
	d.deadlines.set(&r.deadline, w.Deadline())
	if w.Watermark() > d.at.Version {
		d.ahead.set(&r.ahead, d.at.Now+lostMillis)
	}
	d.run(r)
}

// run delivers pending events to a watch, and removes it from the registry if it has
// stopped (rules W3, W6).
func (d *Dispatcher) run(r *registration) {
	if r.Idle() {
		return
	}
	r.Run()
	if r.Stopped() {
		d.forget(r)
	}
}

// Stop ends a watch whose consumer is gone, and drops its undelivered events.
func (d *Dispatcher) Stop(w *watcher.Watcher) {
	w.Discard()
	if r := d.watches[w]; r != nil {
		d.forget(r)
	}
	d.Resume()
}

// Len returns the number of watches.
func (d *Dispatcher) Len() int { return len(d.watches) }

// Counts returns the counters of the watches.
func (d *Dispatcher) Counts() watcher.Counts { return d.counts }

// Stalled returns the number of watches whose consumers accept no events.
func (d *Dispatcher) Stalled() (n int) {
	for w := range d.watches {
		if w.Stalled() {
			n++
		}
	}
	return n
}

func (d *Dispatcher) forget(r *registration) {
	d.index.Remove(&r.entry)
	delete(d.watches, r.Watcher)
	d.bookmarks.set(&r.bookmark, 0)
	d.deadlines.set(&r.deadline, 0)
	d.ahead.set(&r.ahead, 0)
}

func (d *Dispatcher) schedule(r *registration) {
	next, _ := r.NextBookmark(d.at.Now)
	d.bookmarks.set(&r.bookmark, next)
}

// StartClock starts the bookmark clock at the first list (rule C31).
func (d *Dispatcher) StartClock() {
	if d.bookmarkTick == 0 {
		d.budget.since = d.at.Now
		d.scheduleTick()
	}
}

func (d *Dispatcher) scheduleTick() {
	d.bookmarkTick = d.at.Now + bookmarkTickMillis + d.jitter.Int63n(bookmarkTickMillis/4)
}

// Tick performs the work that is due.
func (d *Dispatcher) Tick() {
	if d.parked != nil && d.at.Now >= d.parked.deadline {
		d.giveUpParked()
		d.Dispatch()
	}
	for d.parked == nil { // a deadline must not end a watch inside a revision
		r := d.deadlines.take(d.at.Now + 1)
		if r == nil {
			break
		}
		r.End(api.WatchEndTimeout, nil, false)
		d.run(r)
	}
	if d.bookmarkTick != 0 && d.at.Now >= d.bookmarkTick && d.parked == nil {
		d.sendBookmarks()
		d.scheduleTick()
	}
}

// sendBookmarks offers a bookmark to every watch whose bookmark is due within the current
// second (rule C32), and schedules the next bookmark. No event is parked, so every watch
// has been offered all events up to the bookmark's version (rule C30).
func (d *Dispatcher) sendBookmarks() {
	var due []*registration
	end := (d.at.Now/bookmarkTickMillis + 1) * bookmarkTickMillis
	for r := d.bookmarks.take(end); r != nil; r = d.bookmarks.take(end) {
		due = append(due, r)
	}
	inOrder(due)
	for _, r := range due {
		r.AddBookmark(d.at.Version)
		d.run(r)
		d.schedule(r)
	}
}

// NextTick returns the time at which Tick next has work to do, or zero if it has none.
// Bookmarks wait while an event is parked.
func (d *Dispatcher) NextTick() int64 {
	next := d.deadlines.first()
	if d.parked != nil {
		return d.parked.deadline
	}
	if bookmark := d.bookmarks.first(); bookmark != 0 {
		next = earlier(next, max(d.bookmarkTick, bookmark/bookmarkTickMillis*bookmarkTickMillis))
	}
	if !d.SuspectsLost() {
		next = earlier(next, d.ahead.first())
	}
	return next
}

// earlier returns the earlier of two times; zero means never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
