package watcher

import "github.com/watchglass/watchglass/core/history"

// A watch of the policy stall keeps no events. It reads the history at its own
// pace: while its consumer has room it is at the end and is offered each event,
// and otherwise it stays behind and costs nothing until the consumer has room
// again. Only a relist, which empties the history, fills its queue.

// Stalls reports that the policy is stall: the watch is offered events by Follow
// instead of TryAdd.
func (w *Watcher) Stalls() bool { return w.stalls }

// Covers reports that the watch has read the event at a position of the history,
// or is behind and will find it there.
func (w *Watcher) Covers(position int) bool { return w.cursor.Covers(position) }

// Follow offers the watch the event at a position of the history, unless it
// covers that.
func (w *Watcher) Follow(e *history.Event, position int) {
	if !w.admits(e) || w.cursor.Covers(position) {
		return
	}
	if t, content, ok := w.filter.Convert(e); ok && !w.deliverNow(e, t, content) {
		w.cursor.Wake(position)
	}
}

// Stalled reports that the consumer declined the last delivery.
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

// skip moves a watch that cannot deliver to the next event that concerns it, so
// that the loss of others does not end it.
func (w *Watcher) skip() {
	for w.cursor.Behind() && !w.cursor.Overtaken() {
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

// finishRevisionOfHistory delivers what the history has of a revision that was
// delivered in part. If the rest of it is gone the consumer must not resume
// after it.
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
