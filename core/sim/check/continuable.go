package check

import "github.com/watchglass/watchglass/core/api"

// Continuable checks that a client whose connection breaks after any event, and that
// watches again from the version of that event, does not miss the next one. Either the
// next event has a later version, or the client receives a 410, because its version is older
// than the last list. Changes of one transaction share a version and are exempt.
//
// A Kubernetes watch delivers no deletions that a relist found. Its client could resume at
// another server, after the versions of the deletions.
func Continuable(l *Log, w *Watch) error {
	_, live := w.split()
	changes := changesOf(l, live)
	for i, e := range changes {
		if w.Kubernetes && e.Unknown {
			return violated(ErrContinuable, w, "%v was found by a relist", e)
		}
		if i == 0 {
			continue
		}
		last := changes[i-1]
		if e.ResourceVersion > last.ResourceVersion || l.has(last) && l.has(e) || w.refuses(last.ResourceVersion, e.ResourceVersion) {
			continue
		}
		return violated(ErrContinuable, w, "%v follows %v, and a watch from that version misses it", e, last)
	}
	return nil
}

// has reports whether an event is a change of the source.
func (l *Log) has(e Event) bool {
	return l.At(e.Key, e.ResourceVersion) != l.Before(e.Key, e.ResourceVersion)
}

// refuses reports whether the relist that led to an event at version rv makes the history
// refuse the version "from".
func (w *Watch) refuses(from, rv api.ResourceVersion) bool {
	for _, gap := range w.Relists {
		if gap.From < rv && rv <= gap.To && from < gap.To {
			return true
		}
	}
	return false
}
