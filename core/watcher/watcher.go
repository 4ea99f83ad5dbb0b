package watcher

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Delivery is one event on its way to the consumer. Content, of which the
// delivery holds a count, is zero for a bookmark. ResourceVersion is the one
// the consumer sees: for a deletion that of the event, not of the content.
type Delivery struct {
	Type            api.EventType
	Flags           api.Flags
	Content         store.Ref
	ResourceVersion api.ResourceVersion
}

// Options fix a watch at its registration.
type Options struct {
	Filter *Filter
	// QueueSize bounds the input and the output queue, each (rules W1, H16), to
	// within a revision. A stalling watch has no use for it.
	QueueSize int
	Policy    wire.Policy
	Initial   Initial
	// Cursor is where a stalling watch begins to read the history. Its initial
	// events, if there are any, are a state.
	Cursor history.Cursor
	// Watermark is the version that was asked for. Live events and bookmarks
	// must exceed it and every initial event (rules W34, W35).
	Watermark api.ResourceVersion
	// Bookmarks: the watch is offered periodic bookmarks (rule W25).
	Bookmarks bool
	// BookmarkAfter is the version the end-of-initial-events bookmark must
	// reach; zero when none is due (rule W17).
	BookmarkAfter api.ResourceVersion
	// EndBookmark, when not zero, is sent straight after the initial events
	// (rule W36).
	EndBookmark api.ResourceVersion
	// DeadlineMillis ends the watch; zero for none (rule P9).
	DeadlineMillis int64
	// Sink takes a delivery with its count, or declines it and is offered it
	// again at the next Run. Without one the consumer calls Take.
	Sink func(Delivery) bool
	// Initialized, if not nil, is called once, when the initial events and
	// their bookmark are delivered, with the number of events (rule W39).
	Initialized func(events int)
	// Closed, if not nil, is called once, when nothing more will come than
	// what was not taken yet.
	Closed func()
	// Counts, if not nil, are those of the collection.
	Counts *Counts
}

type bookmarkState uint8

// The states of the end-of-initial-events bookmark (rule W16).
const (
	waiting bookmarkState = iota
	received
	sent
)

// input is an admitted change, or a bookmark when the event has no content.
type input struct {
	event    history.Event
	bookmark bool
}

// Watcher is one watch. It is driven by whoever registered it: TryAdd,
// AddBookmark and the stops change its queues, Run moves things on.
type Watcher struct {
	// What every event looks at comes first: of ten thousand watches, few are
	// in the processor's cache.
	filter    *Filter
	sink      func(Delivery) bool
	heap      *store.Heap
	watermark api.ResourceVersion
	inClosed  bool // no more admissions (rule W4)
	done      bool // nothing more is delivered from the input (rule W4)
	outClosed bool // the end of the stream, once the output is taken (rule W7)
	live      bool // the initial events and their bookmark are delivered
	stalls    bool // the policy is stall
	stalled   bool // the sink declined what it was offered last
	bookmark  bookmarkState
	cursor    history.Cursor // of a stalling watch; at rest in every other
	// admitted and begun are the revisions of the change that was admitted last
	// and of the live change that was delivered last.
	admitted, begun api.ResourceVersion
	in              queue[input]
	out             queue[Delivery]
	opt             Options
	initial         Initial
	endSent         bool
	// inputLimit is QueueSize, except for a conflating watch whose consumer
	// is behind by more objects than that.
	inputLimit int
	// outputLimit is QueueSize, or one for a stalling watch.
	outputLimit int
	// difference is how much of the input came with a relist, and crowded that
	// some of it was there before the last one.
	difference int
	crowded    bool
	// initialEvents counts those that were read, and initialEnd is where they end
	// in the history, for a stalling watch that starts there.
	initialEvents int
	initialEnd    int
	initialized   bool
	ending        Ending
	ended         bool
}

// New registers a watch. Nothing is delivered before Run.
func New(heap *store.Heap, opt Options) *Watcher {
	w := &Watcher{
		heap: heap, filter: opt.Filter, sink: opt.Sink, opt: opt, initial: opt.Initial,
		inputLimit: opt.QueueSize, outputLimit: opt.QueueSize,
	}
	w.opt.Initial, w.opt.Cursor = Initial{}, history.Cursor{}
	w.watermark = max(opt.Watermark, opt.Initial.version)
	if opt.BookmarkAfter == 0 {
		w.bookmark = sent
	}
	if opt.Policy == wire.PolicyStall {
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

// Filter is the watch's filter.
func (w *Watcher) Filter() *Filter { return w.filter }

// Watermark is the version that live events must exceed.
func (w *Watcher) Watermark() api.ResourceVersion { return w.watermark }

// Finished reports that everything was delivered and nothing will follow.
func (w *Watcher) Finished() bool { return w.outClosed && w.out.len() == 0 }

// Stopped reports that the watch admits nothing any more.
func (w *Watcher) Stopped() bool { return w.inClosed }

// TryAdd admits a change without waiting and reports whether there was room
// (rule W10). A conflating watch makes room. A change that the consumer does not
// see needs none. Nor does the rest of a revision that was admitted in part:
// consumers resume after the last version they have seen (G8), so a watch does
// not end inside a revision. If nothing waits, the sink is offered the change at
// once.
func (w *Watcher) TryAdd(e *history.Event) bool {
	if !w.admits(e) {
		return true
	}
	t, content, ok := w.filter.Convert(e)
	if !ok || w.deliverNow(e, t, content) {
		return true
	}
	if w.full() && e.ResourceVersion != w.admitted {
		if w.opt.Policy != wire.PolicyConflate {
			return false
		}
		w.conflate()
	}
	w.admit(e)
	return true
}

// deliverNow delivers a change that nothing waits before.
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

// BeginRelist prepares the watch for a list that replaces the state and empties
// the history: what a stalling watch has not read of it moves to its queue.
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

// AddDifference admits a change that a relist found. All of those come in one
// step, in which no consumer can take any, so they take no room from what
// follows. There are no more of them than objects, and only one relist's wait at
// a time.
func (w *Watcher) AddDifference(e *history.Event) {
	if !w.admits(e) {
		return
	}
	if _, _, ok := w.filter.Convert(e); !ok {
		return
	}
	switch {
	case w.opt.Policy == wire.PolicyConflate:
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

// admits reports whether the watch is open to an event.
func (w *Watcher) admits(e *history.Event) bool { return !w.inClosed && w.newer(e) }

// newer reports whether an event is beyond the watermark.
func (w *Watcher) newer(e *history.Event) bool { return e.ResourceVersion > w.watermark }

// Idle reports that nothing waits to be delivered, and that the watch goes on.
func (w *Watcher) Idle() bool {
	return w.live && w.in.len() == 0 && w.out.len() == 0 && !w.cursor.Behind() && !w.inClosed
}

func (w *Watcher) admit(e *history.Event) {
	w.heap.Retain(e.Current)
	w.heap.Retain(e.Previous)
	w.in.push(input{event: *e})
	w.admitted = e.ResourceVersion
}

// AddBookmark admits a bookmark, unless it comes too early for the end of the
// initial events or finds the queue full: then it is dropped, and the next tick
// brings another (rules W11, W15, W21).
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

// Terminate ends a watch whose consumer is too slow: gracefully when the end
// bookmark is in the queue, because the consumer would otherwise lose all of
// its initial events, at once in every other case (rule W13).
func (w *Watcher) Terminate() {
	drain := w.bookmark == received
	w.expire(wire.WatchEndSlowConsumer, "the consumer of the watch is too slow: "+strconv.Itoa(w.in.len())+
		" events wait for it, and the limit is "+strconv.Itoa(w.inputLimit)+"; watch again from the last resourceVersion received, "+
		"and take events faster or choose the policy stall or conflate", drain)
}

// Stop ends the watch for its consumer, see End.
func (w *Watcher) Stop(drain bool) { w.End(wire.WatchEndClosed, nil, drain) }

// End ends the watch for a reason. With drain, what was admitted is delivered
// first; without it, or when a later End cuts the drain short, only the rest of a
// revision that was begun (rules W2 to W5). It may be called any number of times;
// the first reason counts.
func (w *Watcher) End(reason wire.WatchEnd, status *api.Status, drain bool) {
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

// Run delivers what can be delivered now.
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

// give offers a delivery to the sink, and counts when that begins to decline.
func (w *Watcher) give(d Delivery) bool {
	taken := w.sink(d)
	if taken == w.stalled {
		if w.stalled = !taken; w.stalled {
			w.opt.Counts.Stalls++
		}
	}
	return taken
}

// advance moves one thing towards the output and reports whether it did. Its
// order is that of a watch's life: initial events, end bookmark, live events.
func (w *Watcher) advance() bool {
	switch {
	case w.done:
		w.finishRevision()
		w.close()
		return true
	case w.out.len() >= w.outputLimit:
		w.skip()
		return false
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

// initialize signals, once, that the initial events are over (rule W39).
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
		w.endOvertaken() // by events that were not copied yet (rule W33)
		return
	}
	w.begun = e.ResourceVersion
	w.countInitial()
	w.deliver(&e)
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

// finishRevision delivers the rest of a revision that was delivered in part,
// whether the output has room or not.
func (w *Watcher) finishRevision() {
	for w.initial.goesOn(w.begun) {
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

// delivery holds a count of the content.
func (w *Watcher) delivery(e *history.Event, t api.EventType, content store.Ref) Delivery {
	d := Delivery{Type: t, Content: w.heap.Retain(content), Flags: w.heap.Flags(content)}
	d.ResourceVersion = w.heap.ResourceVersion(content)
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

// close is the exit of the delivery loop (rule W7). What is in the output
// stays takeable (rule W9).
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

// Discard closes the watch and drops what was not taken: the consumer is gone.
func (w *Watcher) Discard() {
	w.Stop(false)
	w.close()
	for w.out.len() > 0 {
		w.heap.Release(w.out.pop().Content)
	}
}

func (w *Watcher) release(e *history.Event) {
	w.heap.Release(e.Current)
	w.heap.Release(e.Previous)
}

// Take returns the next delivery with its count. It is for consumers that
// gave no Sink, who call Run when they have taken what they wanted.
func (w *Watcher) Take() (Delivery, bool) {
	if w.out.len() == 0 {
		return Delivery{}, false
	}
	return w.out.pop(), true
}
