package watcher

import "github.com/watchglass/watchglass/core/api"

// conflate makes room in the input of a watch whose consumer is behind: of
// several changes of one object only one is kept, which goes from the content
// before the first to that after the last, at the place of the last. The
// consumer skips states, never goes back, and ends where everyone else does.
// The queue is then at most one change per object, and that is its bound.
//
// Bookmarks go: the changes they vouch for may have moved behind them. The
// consumer is behind, so it loses nothing that a later one will not tell it.
func (w *Watcher) conflate() {
	last := make(map[api.Key]*input, w.in.len())
	for i := range w.in.len() {
		in := w.in.at(i)
		if in.bookmark {
			continue
		}
		key := w.keyOf(in)
		if earlier := last[key]; earlier != nil {
			w.merge(earlier, in)
		}
		last[key] = in
	}
	w.dropEmpty()
	if w.in.len() > w.inputLimit/2 {
		w.inputLimit *= 2
	}
}

func (w *Watcher) keyOf(in *input) api.Key {
	if in.event.Current != 0 {
		return w.heap.Key(in.event.Current)
	}
	return w.heap.Key(in.event.Previous)
}

// merge folds an earlier change of an object into a later one.
func (w *Watcher) merge(earlier, later *input) {
	w.opt.Counts.Conflations++
	w.heap.Release(earlier.event.Current)
	w.heap.Release(later.event.Previous)
	later.event.Previous = earlier.event.Previous
	later.event.Unchanged &= earlier.event.Unchanged
	earlier.event.Current, earlier.event.Previous = 0, 0
}

// dropEmpty takes out bookmarks and what merge emptied. An object that came and
// went is such a case too.
func (w *Watcher) dropEmpty() {
	for range w.in.len() {
		if in := w.in.pop(); in.event.Current != 0 || in.event.Previous != 0 {
			w.in.push(in)
		}
	}
}
