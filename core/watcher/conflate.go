package watcher

import "github.com/watchglass/watchglass/core/api"

// conflate makes room in the input queue of a watch with a slow consumer. It merges all changes
// to an object into one change, at the position of the last. The merged change contains the
// version before the first change and the version after the last one. The consumer skips
// intermediate states, never goes back in time, and reaches the same final state as every other
// consumer. Afterwards the queue has at most one change per object.
//
// conflate drops bookmarks, because merging may move a change behind a bookmark that
// covers the change. A later bookmark carries the same information.
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
		return w.arena.Key(in.event.Current)
	}
	return w.arena.Key(in.event.Previous)
}

// merge folds an earlier change to an object into a later one.
func (w *Watcher) merge(earlier, later *input) {
	w.opt.Counts.Conflations++
	w.arena.Release(earlier.event.Current)
	w.arena.Release(later.event.Previous)
	later.event.Previous = earlier.event.Previous
	later.event.Unchanged &= earlier.event.Unchanged
	earlier.event.Current, earlier.event.Previous = 0, 0
}

// dropEmpty removes bookmarks and the entries that merge emptied, including the entries
// of objects that were both created and deleted in the queue.
func (w *Watcher) dropEmpty() {
	for range w.in.len() {
		if in := w.in.pop(); in.event.Current != 0 || in.event.Previous != 0 {
			w.in.push(in)
		}
	}
}
