package check

import "github.com/watchglass/watchglass/core/api"

// Bookmarkable checks that bookmarks never decrease, and that none is below an earlier
// event or the start version of the watch. It also checks that every event after a
// bookmark has a greater version than the bookmark. The end of the initial events may be
// marked only once.
func Bookmarkable(l *Log, w *Watch) error {
	initial, live := w.split()
	var mark, last Event
	ends := 0
	for _, e := range changesOf(l, initial) {
		if e.ResourceVersion > last.ResourceVersion {
			last = e
		}
	}
	for _, e := range live {
		switch {
		case e.Type == api.Bookmark:
			if e.ResourceVersion < mark.ResourceVersion || e.ResourceVersion < last.ResourceVersion {
				return violated(ErrBookmarkable, w, "%v after %v and %v", e, mark, last)
			}
			if w.Start == FromVersion && e.ResourceVersion < w.ResourceVersion {
				return violated(ErrBookmarkable, w, "%v in a watch from %d", e, w.ResourceVersion)
			}
			mark = e
			if e.End {
				ends++
			}
		case e.Type.IsChange() && !l.Tainted(e.Key):
			if e.ResourceVersion <= mark.ResourceVersion {
				return violated(ErrBookmarkable, w, "%v after %v", e, mark)
			}
			last = e
		}
	}
	if ends > 1 {
		return violated(ErrBookmarkable, w, "the end of the initial events is marked %d times", ends)
	}
	return nil
}
