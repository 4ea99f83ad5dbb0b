package check

import (
	"github.com/watchglass/watchglass/core/api"
)

// Reliable checks that the events are the changes since the start of the watch,
// without a gap. All changes up to Complete and up to every bookmark must have been
// delivered. A conflating watch that was held back may skip versions, but must reach
// the same state.
func Reliable(l *Log, w *Watch) error {
	if w.Conflating && w.Limited {
		return w.converged(l)
	}
	var err error
	for _, start := range w.starts(l) {
		if err = w.reliableFrom(l, start); err == nil {
			return nil
		}
	}
	return err
}

func (w *Watch) reliableFrom(l *Log, start api.ResourceVersion) error {
	var want []Event
	initial := 0
	if w.Start == FromState {
		for _, item := range l.List(start, w.match) {
			e := Event{Type: api.Added, Key: item.Key, ResourceVersion: item.Object.ResourceVersion, Object: item.Object}
			if !l.Tainted(item.Key) {
				want = append(want, e)
			}
		}
		initial = len(want)
	}
	want = append(want, Expected(l, &w.Request, w.Relists, start)...)
	n := 0
	for _, e := range w.Events {
		switch {
		case e.Type == api.Bookmark:
			if n < initial || n < len(want) && want[n].ResourceVersion <= e.ResourceVersion && e.ResourceVersion > start {
				return violated(ErrReliable, w, "from %d: %v is delivered before %v", start, e, want[n])
			}
		case e.Type.IsChange() && !l.Tainted(e.Key):
			if n == len(want) || !same(want[n], e) {
				return violated(ErrReliable, w, "from %d, event %d of %d: %v, expected %v", start, n, len(want), e, first(want[n:]))
			}
			n++
		}
	}
	if w.Complete > 0 && n < len(want) && (n < initial || want[n].ResourceVersion <= w.Complete) {
		return violated(ErrReliable, w, "from %d: complete up to %d, but %v is missing", start, w.Complete, want[n])
	}
	return nil
}

func (w *Watch) converged(l *Log) error {
	if w.Complete == 0 || w.Start == FromNow {
		return nil
	}
	held := map[api.Key]api.ResourceVersion{}
	if w.Start == FromVersion {
		if w.Complete < w.ResourceVersion {
			return nil
		}
		for _, item := range l.List(w.ResourceVersion, w.match) {
			held[item.Key] = item.Object.ResourceVersion
		}
	}
	for _, e := range w.Events {
		if e.Type == api.Deleted {
			delete(held, e.Key)
		} else if e.Type.IsChange() {
			held[e.Key] = e.ResourceVersion
		}
	}
	if err := w.compare(l, w.Complete, held, len(w.Events)); err != nil {
		return violated(ErrReliable, w, "it did not converge: %v", err)
	}
	return nil
}
