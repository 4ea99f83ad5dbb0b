package check

import (
	"maps"

	"github.com/watchglass/watchglass/core/api"
)

// Filtered: every event is of an object in scope that matches the request, and
// bookmarks come only to those who asked for them.
func Filtered(_ *Log, w *Watch) error {
	for _, e := range w.Events {
		switch {
		case e.Type == api.Bookmark && !w.Bookmarks:
			return violated(ErrFilter, w, "%v, and no bookmarks were asked for", e)
		case e.Type.IsChange() && !w.match(e.Key, e.Object):
			return violated(ErrFilter, w, "%v of %v does not match %+v in %+v", e, e.Object, w.Filter, w.Scope)
		}
	}
	return nil
}

func sameContent(a, b *Object) bool {
	return a.UID == b.UID && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Fields, b.Fields)
}
