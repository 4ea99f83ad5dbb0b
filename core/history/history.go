package history

import (
	"sort"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// Event is one change to one object. Current is zero for a deletion, Previous for a
// creation; at most one of them is zero. The window holds a reference to the Previous
// version of each event. It needs no reference to Current, because the store holds that
// version until it becomes Previous of a later event. Events leave the window in order,
// so Current stays valid while its event is in the window.
type Event struct {
	ResourceVersion api.ResourceVersion
	Current         store.Ref
	Previous        store.Ref
	Millis          int64 // when the event was recorded
	// FinalStateUnknown marks a deletion that a relist discovered.
	FinalStateUnknown bool
	// AfterFault means that the source had unreadable versions between Previous and
	// Current. A client that also reads from another replica may have received one of
	// these versions.
	AfterFault bool
	// Unchanged lists cells that are equal in both versions. The set may be
	// incomplete.
	Unchanged api.Cells
}

// Limits configure a window. The zero value has the limits of kube-apiserver.
type Limits struct {
	MinCapacity  int   // default 100
	MaxCapacity  int   // default 102400, more for windows longer than 75 s (rule H2)
	WindowMillis int64 // the time that the window should span; default 75000
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

// Window is the ring of events. Positions increase without bound. An event keeps
// its position while it is in the window, even when the ring is resized (rules
// H1, H4).
type Window struct {
	arena      *store.Arena
	limits     Limits
	ring       []Event
	first      int // ring index of the oldest event
	start      int
	end        int
	generation int                 // number of relists
	listed     api.ResourceVersion // version of the last relist
	evicted    api.ResourceVersion // version of the last event evicted since the last relist, or zero
	prefetched []store.Ref         // scratch
}

// New returns an empty window. Its events refer to versions in the arena.
func New(arena *store.Arena, limits Limits) *Window {
	limits = limits.withDefaults()
	return &Window{arena: arena, limits: limits, ring: make([]Event, limits.MinCapacity)}
}

// Capacity returns the current size of the ring.
func (w *Window) Capacity() int { return len(w.ring) }

// WindowMillis returns the time that the window should span.
func (w *Window) WindowMillis() int64 { return w.limits.WindowMillis }

// Generation returns how many lists have emptied the window. A position is meaningful
// only in the generation in which it was saved.
func (w *Window) Generation() int { return w.generation }

// Start returns the position of the oldest event.
func (w *Window) Start() int { return w.start }

// End returns the position that the next event will get.
func (w *Window) End() int { return w.end }

// At returns the event at a position in [Start, End). It does not change reference counts.
func (w *Window) At(position int) *Event {
	i := w.first + position - w.start
	if i >= len(w.ring) { // cheaper than a division
		i -= len(w.ring)
	}
	return &w.ring[i]
}

// Append adds an event and takes ownership of its reference to Previous. The resource
// version must not be lower than that of the last event. The result is valid until the
// next call to Append.
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

// Prefetch prefetches the memory that the given number of Append calls will release,
// if the ring has reached its maximum capacity.
func (w *Window) Prefetch(events int) {
	w.prefetched = w.prefetched[:0]
	for p := w.start; p < min(w.end-w.limits.MaxCapacity+events, w.end); p++ {
		w.prefetched = append(w.prefetched, w.At(p).Previous)
	}
	w.arena.Prefetch(w.prefetched)
}

func (w *Window) full() bool { return w.end-w.start == len(w.ring) }

func (w *Window) evict() {
	e := &w.ring[w.first]
	w.evicted = e.ResourceVersion
	w.arena.Release(e.Previous)
	*e = Event{}
	w.start++
	if w.first++; w.first == len(w.ring) {
		w.first = 0
	}
}

// resize doubles a full ring if all of its events are within the time window. It
// halves a ring whose newest quarter already spans the time window (rule H3).
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

// Relist empties the window after a list at rv. The window can no longer serve
// versions before rv (rule H6).
func (w *Window) Relist(rv api.ResourceVersion) {
	for w.start < w.end {
		w.evict()
	}
	w.generation++
	w.listed, w.evicted = rv, 0
}

// Oldest returns the oldest resource version that a watch can start from without a
// gap, and false if there is none yet (rule H7). A watch that starts at that version
// receives all or none of the events that share a resource version.
func (w *Window) Oldest() (api.ResourceVersion, bool) {
	if w.listed > 0 && w.evicted == 0 {
		return w.listed, true
	}
	if w.start < w.end {
		return max(w.At(w.start).ResourceVersion-1, w.evicted), true
	}
	return 0, false
}

// After returns the position of the first event with a version greater than rv, or a
// 410 if events after rv were evicted (rules H8 to H10). For a future version it
// returns End.
func (w *Window) After(rv api.ResourceVersion) (position int, status *api.Status) {
	oldest, ok := w.Oldest()
	if !ok {
		return 0, api.Internal("the collection has not been listed yet, so there is no history to start from")
	}
	if rv < oldest {
		return 0, api.Expired("too old resource version: " + rv.String() + " (" + oldest.String() + ")")
	}
	n := sort.Search(w.end-w.start, func(i int) bool { return w.At(w.start+i).ResourceVersion > rv })
	return w.start + n, nil
}
