package history

import "github.com/watchglass/watchglass/core/store"

// Defaults are the limits with defaults filled in.
func (l Limits) Defaults() Limits { return l.withDefaults() }

// NewAt is a window of a certain capacity whose first event gets a certain
// position.
func NewAt(heap *store.Heap, limits Limits, capacity, start int) *Window {
	w := New(heap, limits)
	w.ring = make([]Event, capacity)
	w.start, w.end = start, start
	return w
}
