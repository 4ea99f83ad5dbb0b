package watcher

import "github.com/watchglass/watchglass/core/history"

// A watch with the policy stall keeps no events of its own. It reads the history at the pace of
// its consumer. While the consumer accepts events, the watch is at the end of the history and
// is offered each event directly. Otherwise the watch stays behind and uses no time or memory.
// The watch's queue receives changes only during a relist, which empties the history.

// Stalls reports whether the policy is stall. The dispatcher offers events to a stalling
// watch with Follow instead of TryAdd.
func (w *Watcher) Stalls() bool { return w.stalls }

// Covers reports whether the watch has read the event at a history position, or will read
// that event later because the watch is behind.
func (w *Watcher) Covers(position int) bool { return w.cursor.Covers(position) }

// Follow offers the watch the event at a history position, unless the watch covers that
// position. If the filter's meter is exhausted, the watch reads the event later.
func (w *Watcher) Follow(e *history.Event, position int) {
	if !w.admits(e) || w.cursor.Covers(position) {
		return
	}
	if !w.filter.Exhausted() { // otherwise the watch evaluates the event later
		if t, content, ok := w.filter.Convert(e); !ok || w.deliverNow(e, t, content) {
			return
		}
	}
	w.cursor.Wake(position)
}

// Stalled reports whether the consumer declined the last delivery.
func (w *Watcher) Stalled() bool { return w.stalled }

// advanceHistory delivers the next event of the history.
func (w *Watcher) advanceHistory() {
	if w.cursor.Overtaken() {
		w.endOvertaken()
		return
	}
	if w.cursor.Position() < w.initialEnd {
		w.countInitial()
	}
	e := w.cursor.Next()
	if e == nil || !w.newer(e) {
		return
	}
	if t, content, ok := w.filter.Convert(e); ok {
		w.begun = e.ResourceVersion
		w.out.push(w.delivery(e, t, content))
	}
}

// skip advances a blocked watch to the next event it would deliver, so that the eviction
// of other events does not end the watch.
func (w *Watcher) skip() {
	for w.cursor.Behind() && !w.cursor.Overtaken() && !w.filter.Exhausted() {
		e := w.cursor.Peek()
		if w.concerns(e) {
			return
		}
		w.cursor.Next()
	}
}

func (w *Watcher) concerns(e *history.Event) bool {
	if e == nil || !w.newer(e) {
		return false
	}
	_, _, ok := w.filter.Convert(e)
	return ok
}

// finishRevisionOfHistory delivers the rest of a partially delivered revision
// from the history. If the rest was evicted, the watch ends with a 410, because
// the consumer must not resume after that revision.
func (w *Watcher) finishRevisionOfHistory() {
	for w.cursor.Behind() && w.begun != 0 {
		if w.cursor.Overtaken() {
			if w.ending.Status == nil {
				w.ended = false
				w.endOvertaken()
			}
			return
		}
		if e := w.cursor.Peek(); e != nil && e.ResourceVersion != w.begun {
			return
		}
		w.advanceHistory()
	}
}
