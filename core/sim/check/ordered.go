package check

import "github.com/watchglass/watchglass/core/api"

// Ordered checks that the initial state is in key order, and that the versions of later
// events never decrease.
func Ordered(l *Log, w *Watch) error {
	initial, live := w.split()
	for i := 1; i < len(initial); i++ {
		if initial[i].Key <= initial[i-1].Key {
			return violated(ErrOrdered, w, "initial %v after %v", initial[i], initial[i-1])
		}
	}
	var last Event
	for _, e := range changesOf(l, live) {
		if e.ResourceVersion < last.ResourceVersion {
			return violated(ErrOrdered, w, "%v after %v", e, last)
		}
		last = e
	}
	held := map[api.Key]api.ResourceVersion{}
	for _, e := range w.Events {
		if e.Type.IsChange() && e.ResourceVersion < held[e.Key] {
			return violated(ErrOrdered, w, "%v goes back from version %d of the same object", e, held[e.Key])
		}
		if e.Type.IsChange() {
			held[e.Key] = e.ResourceVersion
		}
	}
	return nil
}
