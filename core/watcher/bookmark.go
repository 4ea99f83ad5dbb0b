package watcher

const (
	bookmarkPeriodMillis = 60_000
	// A watch with a deadline is offered a last bookmark this long before it,
	// so that the next watch resumes from nearby.
	beforeDeadlineMillis = 2_000
)

// NextBookmark is when the watch is to be offered a bookmark next, in
// milliseconds, or false when it is not scheduled (rules W18 to W20, W25).
func (w *Watcher) NextBookmark(now int64) (millis int64, ok bool) {
	if !w.opt.Bookmarks || w.inClosed {
		return 0, false
	}
	if w.bookmark == waiting {
		return now, true
	}
	next := now + bookmarkPeriodMillis
	if w.opt.DeadlineMillis == 0 {
		return next, true
	}
	last := w.opt.DeadlineMillis - beforeDeadlineMillis
	if last < now {
		return 0, false
	}
	return min(next, last), true
}

// Deadline is when the watch ends by itself, or zero.
func (w *Watcher) Deadline() int64 { return w.opt.DeadlineMillis }
