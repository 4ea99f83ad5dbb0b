package check

import "github.com/watchglass/watchglass/core/api"

// lossless reports whether the watch receives every change as a separate event.
func (w *Watch) lossless() bool { return !(w.Conflating && w.Limited) }

// from returns a version after which all events of the watch are live.
func (w *Watch) from(l *Log) api.ResourceVersion {
	starts := w.starts(l)
	return starts[len(starts)-1]
}

func beyond(l *Log, events []Event, rv api.ResourceVersion) []Event {
	var kept []Event
	for _, e := range changesOf(l, events) {
		if e.ResourceVersion > rv {
			kept = append(kept, e)
		}
	}
	return kept
}

// Suffix checks that two watches of one collection with the same request receive the
// same events after the later of their starts (G17c).
func Suffix(l *Log, a, b *Watch) error {
	if a.Filter != b.Filter || a.Scope != b.Scope || !a.lossless() || !b.lossless() {
		return nil
	}
	from := max(a.from(l), b.from(l))
	x, y := beyond(l, a.Events, from), beyond(l, b.Events, from)
	for i := range min(len(x), len(y)) {
		if !same(x[i], y[i]) {
			return violated(ErrSuffix, a, "after %d, event %d is %v, and in watch %s it is %v", from, i, x[i], b.Name, y[i])
		}
	}
	return nil
}

// Selected checks that a watch with a selector receives the events of the full watch
// of the same collection, converted one by one (G17b).
func Selected(l *Log, full, part *Watch) error {
	if !full.Filter.Everything() || part.Filter.Everything() || full.Scope != part.Scope ||
		full.Start != FromState || !full.lossless() || !part.lossless() {
		return nil
	}
	from := max(full.from(l), part.from(l))
	held := map[api.Key]*Object{}
	var want []Event
	for _, e := range changesOf(l, full.Events) {
		current := e.Object
		if e.Type == api.Deleted {
			current = nil
		}
		if c, ok := convert(&part.Request, e.Key, held[e.Key], current, e.ResourceVersion); ok && e.ResourceVersion > from {
			want = append(want, c)
		}
		held[e.Key] = current
	}
	got := beyond(l, part.Events, from)
	for i := range min(len(want), len(got)) {
		if !same(want[i], got[i]) {
			return violated(ErrSelected, part, "after %d, event %d is %v, and from watch %s it follows that it is %v", from, i, got[i], full.Name, want[i])
		}
	}
	return nil
}
