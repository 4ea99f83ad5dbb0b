package history

import (
	"sort"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// Event is one change of one object. Current is zero for a deletion, Previous
// is zero for a creation; never both. While an event is in the window the window
// holds one count of Previous. Current needs none: it is in the state until a later
// event has it as Previous, and that one leaves the window later.
type Event struct {
	ResourceVersion api.ResourceVersion
	Current         store.Ref
	Previous        store.Ref
	Millis          int64 // when it was recorded
	// FinalStateUnknown: a deletion that a relist found out.
	FinalStateUnknown bool
	// Mended: there were versions between the two that could not be read here.
	// Who reads elsewhere too may hold one of them.
	Mended bool
	// Unchanged are cells that are the same in both versions; there may be more.
	Unchanged api.Cells
}

// Limits of a window. The zero value is that of kube-apiserver.
type Limits struct {
	MinCapacity  int   // default 100
	MaxCapacity  int   // default 102400, more for windows beyond 75 s (rule H2)
	WindowMillis int64 // how much time the window should span; default 75000
}

const (
	defaultMinCapacity  = 100
	defaultMaxCapacity  = 102400
	defaultWindowMillis = 75_000
	maxCapacityShift    = 14
)

func (l Limits) withDefaults() Limits {
	if l.WindowMillis <= 0 {
		l.WindowMillis = defaultWindowMillis
	}
	if l.MinCapacity <= 0 {
		l.MinCapacity = defaultMinCapacity
	}
	if l.MaxCapacity <= 0 {
		l.MaxCapacity = defaultMaxCapacity
		for shift := 0; shift < maxCapacityShift && int64(defaultWindowMillis)<<shift < l.WindowMillis; shift++ {
			l.MaxCapacity *= 2
		}
	}
	l.MaxCapacity = max(l.MaxCapacity, l.MinCapacity)
	return l
}

// Window is the ring. Positions grow for ever: an event keeps its position for
// as long as it is in the window, whatever the ring's capacity (rules H1, H4).
type Window struct {
	heap    *store.Heap
	limits  Limits
	ring    []Event
	first   int // where in the ring the oldest event lies
	start   int
	end     int
	listed  api.ResourceVersion // of the last relist
	evicted api.ResourceVersion // of the last event dropped since then, if any
	sought  []store.Ref         // scratch
	// Events before the position vacant may be announced only; fill has them filled in.
	vacant int
	fill   func() *api.Status
}

// New returns an empty window over a heap.
func New(heap *store.Heap, limits Limits) *Window {
	limits = limits.withDefaults()
	return &Window{heap: heap, limits: limits, ring: make([]Event, limits.MinCapacity)}
}

// Capacity is the present size of the ring.
func (w *Window) Capacity() int { return len(w.ring) }

// WindowMillis is the time that the window should span.
func (w *Window) WindowMillis() int64 { return w.limits.WindowMillis }

// Start is the position of the oldest event, End the one after the newest.
func (w *Window) Start() int { return w.start }

// End is the position that the next event will have.
func (w *Window) End() int { return w.end }

// At returns the event at a position from Start to End-1, without counts.
func (w *Window) At(position int) *Event {
	i := w.first + position - w.start
	if i >= len(w.ring) { // cheaper than to divide
		i -= len(w.ring)
	}
	return &w.ring[i]
}

// Append adds the newest event, takes over its count of Previous, and returns where
// it lies until the next Append. The resource version must not be below that of
// the event before.
func (w *Window) Append(e Event) *Event {
	if w.full() {
		w.resize(e.Millis)
	}
	if w.full() {
		w.evict()
	}
	at := w.At(w.end)
	*at = e
	w.end++
	return at
}

// Announce appends an event of which no more than version and time are known yet.
// Before anyone reads it fill is called, which must have it filled in, or say why
// that cannot be.
func (w *Window) Announce(rv api.ResourceVersion, millis int64, fill func() *api.Status) (position int) {
	w.Append(Event{ResourceVersion: rv, Millis: millis})
	w.vacant, w.fill = w.end, fill
	return w.end - 1
}

// Fill makes an announced event known, and takes over the count of previous, which
// is let go where the event has left the window meanwhile.
func (w *Window) Fill(position int, current, previous store.Ref, unchanged api.Cells) {
	if position < w.start {
		w.heap.Release(previous)
		return
	}
	e := w.At(position)
	e.Current, e.Previous, e.Unchanged = current, previous, unchanged
}

// Seek brings close what so many calls of Append let go, if the ring has grown as far
// as it may.
func (w *Window) Seek(events int) {
	w.sought = w.sought[:0]
	for p := w.start; p < min(w.end-w.limits.MaxCapacity+events, w.end); p++ {
		w.sought = append(w.sought, w.At(p).Previous)
	}
	w.heap.Seek(w.sought)
}

func (w *Window) full() bool { return w.end-w.start == len(w.ring) }

func (w *Window) evict() {
	e := &w.ring[w.first]
	w.evicted = e.ResourceVersion
	w.heap.Release(e.Previous)
	*e = Event{}
	w.start++
	if w.first++; w.first == len(w.ring) {
		w.first = 0
	}
}

// resize doubles a full ring whose events are all fresh, and halves one whose
// newer quarter alone spans the window (rule H3).
func (w *Window) resize(now int64) {
	size := len(w.ring)
	if now-w.At(w.start).Millis < w.limits.WindowMillis {
		if size < w.limits.MaxCapacity {
			w.setCapacity(min(2*size, w.limits.MaxCapacity))
		}
		return
	}
	if size > w.limits.MinCapacity && now-w.At(w.end-size/4).Millis > w.limits.WindowMillis {
		w.setCapacity(max(size/2, w.limits.MinCapacity))
	}
}

func (w *Window) setCapacity(capacity int) {
	for w.end-w.start > capacity {
		w.evict()
	}
	ring := make([]Event, capacity)
	for p := w.start; p < w.end; p++ {
		ring[p-w.start] = *w.At(p)
	}
	w.ring, w.first = ring, 0
}

// Relist empties the window: the state is that of a list at rv, and nothing
// before it can be served (rule H6).
func (w *Window) Relist(rv api.ResourceVersion) {
	for w.start < w.end {
		w.evict()
	}
	w.listed, w.evicted = rv, 0
}

// Oldest is the oldest resource version a watch can start from without a gap,
// and false before there is any (rule H7). Where events share a version it is
// one whose events are all in the window or all gone.
func (w *Window) Oldest() (api.ResourceVersion, bool) {
	if w.listed > 0 && w.evicted == 0 {
		return w.listed, true
	}
	if w.start < w.end {
		return max(w.At(w.start).ResourceVersion-1, w.evicted), true
	}
	return 0, false
}

// After returns the position of the first event with a resource version above
// rv, or a 410 when events in between are gone (rules H8 to H10). A version
// from the future is accepted: its position is End.
func (w *Window) After(rv api.ResourceVersion) (position int, status *api.Status) {
	oldest, ok := w.Oldest()
	if !ok {
		return 0, api.Internal("the collection has not been listed yet, so there is no history to start from")
	}
	if rv < oldest {
		return 0, api.Expired("too old resource version: " + rv.String() + " (" + oldest.String() + ")")
	}
	n := sort.Search(w.end-w.start, func(i int) bool { return w.At(w.start+i).ResourceVersion > rv })
	if position = w.start + n; position < w.vacant {
		if status := w.fill(); status != nil {
			return 0, status
		}
		w.vacant = 0
	}
	return position, nil
}
