package watcher

import (
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
	// within a revision.
	QueueSize int
	Policy    wire.Policy
	Initial   Initial
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
	// Closed, if there is one, is called once, when nothing more will come
	// than what was not taken yet.
	Closed func()
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
	bookmark  bookmarkState
	// admitted and begun are the revisions of the change that was admitted last
	// and of the live change that was delivered last.
	admitted, begun api.ResourceVersion
	in              queue[input]
	out             queue[Delivery]
	opt             Options
	initial         Initial
	endSent         bool
	status          *api.Status // why it failed
	// inputLimit is QueueSize, except for a conflating watch whose consumer
	// is behind by more objects than that.
	inputLimit int
	// difference is how much of the input came from a relist.
	difference int
}

// New registers a watch. Nothing is delivered before Run.
func New(heap *store.Heap, opt Options) *Watcher {
	w := &Watcher{heap: heap, filter: opt.Filter, sink: opt.Sink, opt: opt, initial: opt.Initial, inputLimit: opt.QueueSize}
	w.opt.Initial = Initial{}
	w.watermark = max(opt.Watermark, opt.Initial.version)
	if opt.BookmarkAfter == 0 {
		w.bookmark = sent
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
// (rule W10). A conflating watch makes room. An event that there is nobody to
// give to, or that the consumer would not see, needs none; nor does the rest of
// a revision that was admitted in part: consumers resume after the last version
// that they have seen (G8), so a watch does not end inside a revision. Where
// nothing waits the sink is offered the change at once.
func (w *Watcher) TryAdd(e *history.Event) bool {
	if !w.admits(e) {
		return true
	}
	t, content, ok := w.filter.Convert(e)
	if !ok {
		return true
	}
	if w.Idle() && w.sink != nil {
		w.admitted, w.begun = e.ResourceVersion, e.ResourceVersion
		if d := w.delivery(e, t, content); !w.sink(d) {
			w.out.push(d)
		}
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

// AddDifference admits a change that a relist found out. All of those come in
// one step, in which no consumer can take any, so they take no room from what
// follows; there are no more of them than objects.
func (w *Watcher) AddDifference(e *history.Event) {
	if w.opt.Policy == wire.PolicyConflate {
		w.TryAdd(e)
		return
	}
	if !w.admits(e) {
		return
	}
	if _, _, ok := w.filter.Convert(e); ok {
		w.admit(e)
		w.difference++
	}
}

func (w *Watcher) full() bool { return w.in.len()-w.difference >= w.inputLimit }

// admits reports whether the watch is open to an event of that version.
func (w *Watcher) admits(e *history.Event) bool {
	return !w.inClosed && e.ResourceVersion > w.watermark
}

// Idle reports that nothing waits to be delivered, and that the watch goes on.
func (w *Watcher) Idle() bool {
	return w.live && w.in.len() == 0 && w.out.len() == 0 && !w.inClosed
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
	if w.inClosed || rv < w.opt.BookmarkAfter || w.full() {
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
	w.Stop(w.bookmark == received)
}

// Stop ends the watch. With drain, what was admitted is delivered first; without
// it, or when a later Stop cuts the drain short, only the rest of a revision that
// was begun (rules W2 to W5). It may be called any number of times.
func (w *Watcher) Stop(drain bool) {
	w.inClosed = true
	if !drain {
		w.done = true
	}
}

// Fail ends the watch like Stop without drain, with a status to be reported as its
// last event. The first status stays.
func (w *Watcher) Fail(status *api.Status) {
	if w.status == nil && !w.inClosed {
		w.status = status
	}
	w.Stop(false)
}

// Status returns why the watch failed. It is nil for a watch that ended in order or
// goes on.
func (w *Watcher) Status() *api.Status { return w.status }

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
	for w.sink != nil && w.out.len() > 0 && w.sink(*w.out.at(0)) {
		w.out.pop()
	}
}

// advance moves one thing towards the output and reports whether it did. Its
// order is that of a watch's life: initial events, end bookmark, live events.
func (w *Watcher) advance() bool {
	switch {
	case w.done:
		w.finishRevision()
		w.close()
		return true
	case w.out.len() >= w.opt.QueueSize:
		return false
	case !w.initial.finished():
		w.advanceInitial()
		return true
	case w.opt.EndBookmark != 0 && !w.endSent:
		w.endSent = true
		w.deliverBookmark(w.opt.EndBookmark)
		return true
	case w.in.len() > 0:
		w.advanceLive()
		return true
	case w.inClosed:
		w.close()
		return true
	}
	w.live = true
	return false
}

func (w *Watcher) advanceInitial() {
	e, ok := w.initial.next()
	if !ok {
		// The window has moved past events that were not copied yet. The
		// consumer resumes and is told that it is too late (rule W33).
		w.Stop(false)
		return
	}
	w.begun = e.ResourceVersion
	w.deliver(&e)
	w.release(&e)
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
