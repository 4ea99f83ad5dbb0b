package history

import "github.com/watchglass/watchglass/core/store"

// Defaults returns the limits with defaults filled in.
func (l Limits) Defaults() Limits { return l.withDefaults() }

// NewAt returns a window with the given capacity, whose first event gets the
// given position.
func NewAt(arena *store.Arena, limits Limits, capacity, start int) *Window {
	w := New(arena, limits)
	w.ring = make([]Event, capacity)
	w.start, w.end = start, start
	return w
}
