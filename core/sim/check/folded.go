package check

import "github.com/watchglass/watchglass/core/api"

// Folded checks that at every bookmark, the result of all earlier events is exactly the
// list as of the version of the bookmark (G17a).
func Folded(l *Log, w *Watch) error {
	starts := w.starts(l)
	if w.Start == FromNow && len(starts) > 1 {
		return nil // the start version is not determined
	}
	held := map[api.Key]api.ResourceVersion{}
	if w.Start != FromState {
		for _, item := range l.List(starts[0], w.match) {
			held[item.Key] = item.Object.ResourceVersion
		}
	}
	for i, e := range w.Events {
		switch {
		case e.Type == api.Deleted:
			delete(held, e.Key)
		case e.Type.IsChange():
			held[e.Key] = e.ResourceVersion
		case e.Type == api.Bookmark:
			if err := w.compare(l, e.ResourceVersion, held, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Watch) compare(l *Log, rv api.ResourceVersion, held map[api.Key]api.ResourceVersion, at int) error {
	for _, key := range l.keys {
		if l.Tainted(key) {
			continue
		}
		o := l.At(key, rv)
		got, there := held[key]
		if want := w.match(key, o); want != there || want && o.ResourceVersion != got {
			return violated(ErrFold, w, "at version %d, after %d events, %s is held as %d and is %v", rv, at, key, got, o)
		}
	}
	return nil
}
