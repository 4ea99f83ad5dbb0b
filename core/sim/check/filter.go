package check

import (
	"maps"

	"github.com/watchglass/watchglass/core/api"
)

// Filtered checks that every event is in scope and matches the request, and that
// only watches that requested bookmarks receive them.
func Filtered(_ *Log, w *Watch) error {
	for _, e := range w.Events {
		switch {
		case e.Type == api.Bookmark && !w.Bookmarks:
			return violated(ErrFilter, w, "%v, and no bookmarks were requested", e)
		case e.Type.IsChange() && !w.match(e.Key, e.Object):
			return violated(ErrFilter, w, "%v of %v does not match %+v in %+v", e, e.Object, w.Filter, w.Scope)
		}
	}
	return nil
}

func sameContent(a, b *Object) bool {
	return a.UID == b.UID && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Fields, b.Fields)
}
