package check

import "github.com/watchglass/watchglass/core/api"

// PrevState checks that ADDED events are for missing objects, and MODIFIED and DELETED
// events for existing ones. Each event must have the content of its version, and a
// deletion the content of the last seen version.
func PrevState(l *Log, w *Watch) error {
	held := map[api.Key]*Object{}
	if w.Start != FromState {
		starts := w.starts(l)
		for _, item := range l.List(starts[0], w.match) {
			held[item.Key] = item.Object
		}
		if len(starts) > 1 {
			return nil // the start version is not determined
		}
	}
	for _, e := range w.Events {
		if !e.Type.IsChange() || w.Start != FromState && l.Tainted(e.Key) {
			continue
		}
		if err := w.transition(l, held[e.Key], e); err != nil {
			return err
		}
		held[e.Key] = e.Object
		if e.Type == api.Deleted {
			delete(held, e.Key)
		}
	}
	return nil
}

func (w *Watch) transition(l *Log, before *Object, e Event) error {
	switch {
	case e.Type == api.Added && before != nil:
		return violated(ErrPrevState, w, "%v, and the object existed", e)
	case e.Type != api.Added && before == nil:
		return violated(ErrPrevState, w, "%v, and the object did not exist", e)
	case e.Type == api.Deleted:
		if !sameContent(before, e.Object) {
			return violated(ErrPrevState, w, "%v has the previous content %v, expected %v", e, e.Object, before)
		}
	default:
		now := l.At(e.Key, e.ResourceVersion)
		if now == nil || now.ResourceVersion != e.ResourceVersion || !sameContent(now, e.Object) {
			return violated(ErrPrevState, w, "%v has the content %v, expected %v", e, e.Object, now)
		}
	}
	return nil
}
