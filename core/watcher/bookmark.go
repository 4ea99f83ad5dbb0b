package watcher

const (
	bookmarkPeriodMillis = 60_000
	// beforeDeadlineMillis is the time from the last bookmark of a watch to its deadline.
	// The bookmark lets the client's next watch resume close to the end of this watch.
	beforeDeadlineMillis = 2_000
)

// NextBookmark returns the time in milliseconds at which the watch should be offered its
// next bookmark. It returns false if no bookmark is scheduled (rules W18 to W20, W25).
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

// Deadline returns the time in milliseconds at which the watch ends, or zero if it has no
// deadline.
func (w *Watcher) Deadline() int64 { return w.opt.DeadlineMillis }
