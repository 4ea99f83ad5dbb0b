package watcher

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// Delivery is one event for the consumer. It holds a reference to Content, which
// is zero for a bookmark. ResourceVersion is the version that the consumer sees;
// for a deletion it is the version of the event, not of the content. Previous is the
// version before a MODIFIED event, with a reference, if [Options.Previous] is set.
type Delivery struct {
	Type            api.EventType
	Flags           api.Flags
	Content         store.Ref
	Previous        store.Ref
	ResourceVersion api.ResourceVersion
}

type bookmarkState uint8

// The states of the end-of-initial-events bookmark (rule W16).
const (
	waiting bookmarkState = iota
	received
	sent
)

// input is an admitted change or a bookmark.
type input struct {
	event    history.Event
	bookmark bool
}

// Watcher is one Kubernetes watch. TryAdd and AddBookmark add to the input queue. Run
// moves events from the input queue to the output queue, and from there to the sink.
type Watcher struct {
	// The fields that are read for every event come first, so that they share cache lines.
	filter    *Filter
	sink      func(Delivery) bool
	arena     *store.Arena
	watermark api.ResourceVersion
	inClosed  bool // no more admissions (rule W4)
	done      bool // no more deliveries from the input (rule W4)
	outClosed bool // the stream ends after the remaining output (rule W7)
	live      bool // the initial events and their bookmark are delivered
	stalls    bool // the policy is stall
	stalled   bool // the sink declined the last delivery
	bookmark  bookmarkState
	cursor    history.Cursor // only a stalling watch uses it
	// admitted is the revision of the last admitted change, and begun is the revision
	// of the last delivered change.
	admitted, begun api.ResourceVersion
	in              queue[input]
	out             queue[Delivery]
	opt             Options
	initial         Initial
	endSent         bool
	// inputLimit is QueueSize, or more if a conflating watch has queued changes of more
	// than QueueSize objects.
	inputLimit int
	// outputLimit is QueueSize, or one for a stalling watch.
	outputLimit int
	// difference is the number of queued changes from relists. crowded means that some of these
	// changes are from a relist before the last one.
	difference int
	crowded    bool
	// initialEvents counts the initial events read so far. initialEnd is the position
	// after the initial events in the history, for a stalling watch whose initial events
	// are in the history.
	initialEvents int
	initialEnd    int
	initialized   bool
	ending        Ending
	ended         bool
}

// New returns a watch, which delivers no events before the first Run.
func New(arena *store.Arena, opt Options) *Watcher {
	w := &Watcher{
		arena: arena, filter: opt.Filter, sink: opt.Sink, opt: opt, initial: opt.Initial,
		inputLimit: opt.QueueSize, outputLimit: opt.QueueSize,
	}
	w.opt.Initial, w.opt.Cursor = Initial{}, history.Cursor{}
	w.watermark = max(opt.Watermark, opt.Initial.version)
	if opt.BookmarkAfter == 0 {
		w.bookmark = sent
	}
	if opt.Policy == api.PolicyStall {
		w.stalls, w.cursor, w.outputLimit = true, opt.Cursor, 1
		if w.cursor.Behind() {
			w.initialEnd = w.cursor.Window().End()
		}
	}
	if opt.Counts == nil {
		w.opt.Counts = new(Counts)
	}
	return w
}

// Filter returns the filter of the watch.
func (w *Watcher) Filter() *Filter { return w.filter }

// Watermark returns the version that live events must exceed.
func (w *Watcher) Watermark() api.ResourceVersion { return w.watermark }

// Finished reports whether all events were delivered and none will follow.
func (w *Watcher) Finished() bool { return w.outClosed && w.out.len() == 0 }

// Stopped reports whether the watch has stopped admitting events.
func (w *Watcher) Stopped() bool { return w.inClosed }

// TryAdd admits a change without waiting, and returns false if the queue is full (rule W10). A
// conflating watch makes room. A change that the filter excludes needs no room. Even if the
// queue is full, TryAdd admits the rest of a partially admitted revision. Clients resume after
// the last version received (G8), so a watch must not end inside a revision. If nothing is
// queued, TryAdd offers the change to the sink directly.
func (w *Watcher) TryAdd(e *history.Event) bool {
	if !w.admits(e) {
		return true
	}
	t, content, ok := w.filter.Convert(e)
	if !ok || w.deliverNow(e, t, content) {
		return true
	}
	if w.full() && e.ResourceVersion != w.admitted {
		if w.opt.Policy != api.PolicyConflate {
			return false
		}
		w.conflate()
	}
	w.admit(e)
	return true
}

// deliverNow delivers a change directly if nothing is queued, and reports whether it did.
func (w *Watcher) deliverNow(e *history.Event, t api.EventType, content store.Ref) bool {
	if !w.Idle() || w.sink == nil {
		return false
	}
	w.admitted, w.begun = e.ResourceVersion, e.ResourceVersion
	if d := w.delivery(e, t, content); !w.give(d) {
		w.out.push(d)
	}
	return true
}

// BeginRelist prepares the watch for a relist, which empties the history. It moves the
// events that a stalling watch has not read to the input queue of the watch.
func (w *Watcher) BeginRelist() {
	w.crowded = w.difference > 0
	if w.cursor.Overtaken() {
		w.endOvertaken()
	}
	for !w.inClosed && w.cursor.Behind() {
		if e := w.cursor.Next(); e != nil {
			w.AddDifference(e)
		}
	}
}

// EndBeforeDeletion ends a Kubernetes watch if it would have to deliver the given event as a
// deletion. The event comes from a relist, and its version is unknown. A client of the Kubernetes
// API whose connection breaks resumes from the last version that it received, possibly at another
// server. If this client received only a part of the relist, it would miss the deletion.
// EndBeforeDeletion evaluates the filter even if the meter is exhausted, and charges the meter.
func (w *Watcher) EndBeforeDeletion(e *history.Event) {
	if !w.opt.Kubernetes || !w.admits(e) {
		return
	}
	if t, _, ok := w.filter.Convert(e); ok && t == api.Deleted {
		w.endRelisted()
	}
}

// AddDifference admits a change that a relist found. All changes of a relist are added before
// any consumer can take one, so they may exceed the queue limit. The number of changes is
// bounded by the number of objects, and changes of only one relist may wait at a time.
func (w *Watcher) AddDifference(e *history.Event) {
	if !w.admits(e) {
		return
	}
	if !w.filter.Exhausted() { // otherwise the filter evaluates the change at delivery
		if _, _, ok := w.filter.Convert(e); !ok {
			return
		}
	}
	switch {
	case w.opt.Policy == api.PolicyConflate:
		if w.full() && e.ResourceVersion != w.admitted {
			w.conflate()
		}
	case w.crowded:
		w.endCrowded()
		return
	default:
		w.difference++
	}
	w.admit(e)
}

func (w *Watcher) full() bool { return w.in.len()-w.difference >= w.inputLimit }

// admits reports whether the watch is open and the event is newer than its
// watermark.
func (w *Watcher) admits(e *history.Event) bool { return !w.inClosed && w.newer(e) }

// newer reports whether the event is newer than the watermark.
func (w *Watcher) newer(e *history.Event) bool { return e.ResourceVersion > w.watermark }

// Idle reports whether the watch is open and has nothing to deliver.
func (w *Watcher) Idle() bool {
	return w.live && w.in.len() == 0 && w.out.len() == 0 && !w.cursor.Behind() && !w.inClosed
}

func (w *Watcher) admit(e *history.Event) {
	w.arena.Retain(e.Current)
	w.arena.Retain(e.Previous)
	w.in.push(input{event: *e})
	w.admitted = e.ResourceVersion
}

// AddBookmark queues a bookmark. It drops the bookmark and returns false if the bookmark
// is older than BookmarkAfter, the queue is full, or a stalling watch is not idle. The
// next tick produces another bookmark (rules W11, W15, W21).
func (w *Watcher) AddBookmark(rv api.ResourceVersion) bool {
	if w.inClosed || rv < w.opt.BookmarkAfter || w.full() || w.stalls && !w.Idle() {
		return false
	}
	w.in.push(input{event: history.Event{ResourceVersion: rv}, bookmark: true})
	if w.bookmark == waiting {
		w.bookmark = received
	}
	return true
}

// Terminate ends a watch whose consumer is too slow (rule W13). If the
// end-of-initial-events bookmark is queued, the queue is delivered first; otherwise the
// consumer would have to receive all initial events again.
func (w *Watcher) Terminate() {
	drain := w.bookmark == received
	w.expire(api.WatchEndSlowConsumer, "the consumer of the watch is too slow: "+strconv.Itoa(w.in.len())+
		" events wait for it, and the limit is "+strconv.Itoa(w.inputLimit)+"; watch again from the last resourceVersion received, "+
		"and take events faster or choose the policy stall or conflate", drain)
}

// Stop ends the watch on behalf of its consumer; see End.
func (w *Watcher) Stop(drain bool) { w.End(api.WatchEndClosed, nil, drain) }

// End ends the watch. With drain, the watch first delivers all admitted events. Without
// drain, or after a later End without drain, it delivers only the rest of a partially
// delivered revision (rules W2 to W5). End may be called repeatedly; the first reason
// remains.
func (w *Watcher) End(reason api.WatchEnd, status *api.Status, drain bool) {
	if !w.ended {
		w.ended = true
		w.ending = Ending{Reason: reason, Status: status, Input: w.in.len(), Output: w.out.len()}
		w.opt.Counts.end(reason)
	}
	w.inClosed = true
	if !drain {
		w.done = true
	}
}

// Run delivers everything that can be delivered now.
func (w *Watcher) Run() {
	for !w.Idle() {
		w.flush()
		if w.outClosed || !w.advance() {
			return
		}
	}
}

func (w *Watcher) flush() {
	for w.sink != nil && w.out.len() > 0 && w.give(*w.out.at(0)) {
		w.out.pop()
	}
}

// give offers a delivery to the sink and reports whether the sink accepts it. It counts
// how often the sink starts to decline deliveries.
func (w *Watcher) give(d Delivery) bool {
	taken := w.sink(d)
	if taken == w.stalled {
		if w.stalled = !taken; w.stalled {
			w.opt.Counts.Stalls++
		}
	}
	return taken
}

// advance performs one step of delivery and reports whether it made progress. It delivers
// the initial events first, then the end bookmark, and then live events.
func (w *Watcher) advance() bool {
	switch {
	case w.done:
		w.finishRevision()
		w.close()
		return true
	case w.out.len() >= w.outputLimit:
		w.skip()
		return false
	case w.Starved():
		if w.opt.Exhausted != nil {
			w.opt.Exhausted()
		}
		return false
	case w.initial.collect != nil:
		w.collect()
		return true
	case !w.initial.finished():
		w.advanceInitial()
		return true
	case w.opt.EndBookmark != 0 && !w.endSent:
		w.endSent = true
		w.deliverBookmark(w.opt.EndBookmark)
		return true
	}
	w.initialize()
	switch {
	case w.in.len() > 0:
		w.advanceLive()
		return true
	case w.cursor.Behind():
		w.advanceHistory()
		return true
	case w.inClosed:
		w.close()
		return true
	}
	w.live = true
	return false
}

// Starved reports whether delivery must wait for the meter, because the next step
// evaluates selectors and the meter is exhausted.
func (w *Watcher) Starved() bool {
	switch {
	case !w.filter.Exhausted():
		return false
	case w.initial.collect != nil:
		return true
	case !w.initial.finished(), w.opt.EndBookmark != 0 && !w.endSent:
		return false // collected events were evaluated already
	case w.in.len() > 0:
		return !w.in.at(0).bookmark
	}
	return w.cursor.Behind()
}

func (w *Watcher) collect() {
	if status := w.initial.collectMore(); status != nil {
		w.expire(api.WatchEndOvertaken, status.Message, false)
	}
}

// initialize calls Initialized once, after the initial events (rule W39).
func (w *Watcher) initialize() {
	if w.initialized || w.cursor.Behind() && w.cursor.Position() < w.initialEnd {
		return
	}
	w.initialized = true
	if w.opt.Initialized != nil {
		w.opt.Initialized(w.initialEvents)
	}
}

func (w *Watcher) advanceInitial() {
	e, ok := w.initial.next()
	if !ok {
		w.endOvertaken() // the next initial event was evicted before it was read (rule W33)
		return
	}
	w.begun = e.ResourceVersion
	w.countInitial()
	if w.initial.filtered {
		w.out.push(w.delivery(&e, api.Added, e.Current))
	} else {
		w.deliver(&e)
	}
	w.release(&e)
}

func (w *Watcher) countInitial() {
	w.initialEvents++
	w.opt.Counts.InitialEvents++
}

func (w *Watcher) advanceLive() {
	in := w.in.pop()
	w.difference = max(w.difference-1, 0)
	rv := in.event.ResourceVersion
	if in.bookmark {
		if rv > w.watermark || rv == w.watermark && w.bookmark != sent {
			w.deliverBookmark(rv)
		}
		return
	}
	w.begun = rv
	w.deliver(&in.event)
	w.release(&in.event)
}

// finishRevision delivers the rest of a partially delivered revision, even if the
// output is full.
func (w *Watcher) finishRevision() {
	for w.initial.continues(w.begun) {
		w.advanceInitial()
	}
	for w.in.len() > 0 && w.begun != 0 && w.in.at(0).event.ResourceVersion == w.begun && !w.in.at(0).bookmark {
		w.advanceLive()
	}
	w.finishRevisionOfHistory()
}

func (w *Watcher) deliver(e *history.Event) {
	t, content, ok := w.filter.Convert(e)
	if !ok {
		return
	}
	w.out.push(w.delivery(e, t, content))
}

// delivery returns a Delivery with a new reference to the content.
func (w *Watcher) delivery(e *history.Event, t api.EventType, content store.Ref) Delivery {
	d := Delivery{Type: t, Content: w.arena.Retain(content), Flags: w.arena.Flags(content)}
	d.ResourceVersion = w.arena.ResourceVersion(content)
	if t == api.Modified && w.opt.Previous {
		d.Previous = w.arena.Retain(e.Previous)
	}
	if t == api.Deleted {
		d.ResourceVersion = e.ResourceVersion
		if e.FinalStateUnknown {
			d.Flags |= api.FinalStateUnknown
		}
	}
	return d
}

func (w *Watcher) deliverBookmark(rv api.ResourceVersion) {
	d := Delivery{Type: api.Bookmark, ResourceVersion: rv}
	if w.bookmark != sent {
		d.Flags = api.EndOfInitialEvents
		w.bookmark = sent
	}
	w.out.push(d)
}

// close calls Options.Closed, and releases the events that were not delivered (rule W7). The
// consumer can still take the remaining output (rule W9).
func (w *Watcher) close() {
	if !w.outClosed && w.opt.Closed != nil {
		w.opt.Closed()
	}
	w.inClosed, w.done, w.outClosed = true, true, true
	for w.in.len() > 0 {
		in := w.in.pop()
		w.release(&in.event)
	}
	w.initial.release()
}

// Discard closes the watch and drops its output. Call Discard when the consumer is gone.
func (w *Watcher) Discard() {
	w.Stop(false)
	w.close()
	for w.out.len() > 0 {
		d := w.out.pop()
		w.arena.Release(d.Content)
		w.arena.Release(d.Previous)
	}
}

func (w *Watcher) release(e *history.Event) {
	w.arena.Release(e.Current)
	w.arena.Release(e.Previous)
}

// Take returns the next delivery together with its reference. It returns false if the
// output is empty. Consumers without a Sink call Take, and then Run.
func (w *Watcher) Take() (Delivery, bool) {
	if w.out.len() == 0 {
		return Delivery{}, false
	}
	return w.out.pop(), true
}
