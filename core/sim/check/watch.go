package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/watchglass/watchglass/core/api"
)

// Start determines where a watch begins: with a state, after a version, or now.
type Start uint8

const (
	// FromState starts with the existing objects, as ADDED events.
	FromState Start = iota
	// FromVersion starts after the version in the request.
	FromVersion
	// FromNow starts with the first change after the watch was opened.
	FromNow
)

// Request contains the options of a watch, and the reasons for which its deliveries may
// be delayed or merged.
type Request struct {
	// Scope selects the objects of the collection, and Filter selects the objects of the
	// watch.
	Scope, Filter   Filter
	Start           Start
	ResourceVersion api.ResourceVersion // for FromVersion
	Bookmarks       bool
	// Conflating means that several changes to an object may be delivered as one.
	Conflating bool
	// Kubernetes means that the watch uses api.PolicyTerminate, as in Kubernetes.
	Kubernetes bool
	// Limited means that missing credit may delay deliveries and split them
	// anywhere.
	Limited bool
	// Beside means that another watch of the collection may delay deliveries, for
	// as long as the time budget of slow consumers allows.
	Beside bool
}

func (r *Request) match(key api.Key, o *Object) bool {
	return r.Scope.Match(key, o) && r.Filter.Match(key, o)
}

// Event is a delivered event. Events with the same Batch arrived in one delivery.
type Event struct {
	Type            api.EventType
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Object          *Object
	End             bool // the bookmark marks the end of the initial events
	Unknown         bool // a relist found the deletion
	Batch           int
}

func (e Event) String() string {
	s := e.Type.String() + " " + string(e.Key) + "@" + e.ResourceVersion.String()
	if e.End {
		s += " end"
	}
	return s
}

// Relist is a range of versions that the reader skipped. The state of the reader
// changed from version From to version To in one step.
type Relist struct{ From, To api.ResourceVersion }

// Watch is the record of one watch, from its opening to its end.
type Watch struct {
	Name string
	Request
	// Opened and Started are bounds for the version of the initial state, if the
	// request does not determine it.
	Opened, Started api.ResourceVersion
	Relists         []Relist
	Events          []Event
	// Complete is a version up to which all changes must have been delivered. Zero
	// means none.
	Complete api.ResourceVersion
}

// The errors of the validators. Violations wrap them and add details.
var (
	ErrFilter       = errors.New("filter: an event does not match the request")
	ErrOrdered      = errors.New("ordered: resource versions decrease")
	ErrUnique       = errors.New("unique: a change was delivered twice")
	ErrAtomic       = errors.New("atomic: a revision is split over deliveries")
	ErrBookmarkable = errors.New("bookmarkable: a bookmark is overtaken or overtakes")
	ErrResumable    = errors.New("resumable: the watch does not start right after its version")
	ErrContinuable  = errors.New("continuable: a watch that continues after an event misses the next one")
	ErrReliable     = errors.New("reliable: the events are not the changes of the source")
	ErrPrevState    = errors.New("prevState: an event does not lead from the watcher's state to a true state")
	ErrFold         = errors.New("fold: at a bookmark, the events do not add up to the list")
	ErrSelected     = errors.New("selected: the watch is not the filtered full watch")
	ErrSuffix       = errors.New("suffix: watches from different versions do not converge")
)

func violated(err error, w *Watch, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", err, w.Name, fmt.Sprintf(format, args...))
}

// Validator checks one watch. Its error wraps one of the errors above.
type Validator func(*Log, *Watch) error

// Validators contains the validators of a single watch, the most informative first.
var Validators = []Validator{Filtered, Unique, Ordered, Bookmarkable, Atomic, Resumable, Continuable, PrevState, Folded, Reliable}

// All validates every watch separately, and compares each watch with the others. All
// watches must be of one reader and collection, so they have the same Relists.
func All(l *Log, watches ...*Watch) error {
	for _, w := range watches {
		for _, validate := range Validators {
			if err := validate(l, w); err != nil {
				return err
			}
		}
	}
	for i, a := range watches {
		for _, b := range watches[i+1:] {
			for _, err := range []error{Suffix(l, a, b), Selected(l, a, b), Selected(l, b, a)} {
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// split separates the initial state from later events. The initial state consists of all
// events before the end marker or, without a marker, of the first ADDED events in key order.
func (w *Watch) split() (initial, live []Event) {
	if w.Start != FromState {
		return nil, w.Events
	}
	for i, e := range w.Events {
		if e.End {
			return w.Events[:i], w.Events[i:]
		}
	}
	n := 0
	for n < len(w.Events) && w.Events[n].Type == api.Added && (n == 0 || w.Events[n-1].Key < w.Events[n].Key) {
		n++
	}
	return w.Events[:n], w.Events[n:]
}

// marker returns the version of the end marker, if there is one.
func (w *Watch) marker() (api.ResourceVersion, bool) {
	for _, e := range w.Events {
		if e.End {
			return e.ResourceVersion, true
		}
	}
	return 0, false
}

// starts returns the possible start versions of the watch.
func (w *Watch) starts(l *Log) []api.ResourceVersion {
	if w.Start == FromVersion {
		return []api.ResourceVersion{w.ResourceVersion}
	}
	if rv, ok := w.marker(); ok && w.Start == FromState {
		return []api.ResourceVersion{rv}
	}
	starts := l.versions(w.Opened, max(w.Opened, w.Started))
	for _, gap := range w.Relists {
		if gap.To > w.Opened && gap.To <= w.Started {
			starts = append(starts, gap.To)
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// changesOf returns the events, without bookmarks, of objects that are not tainted.
func changesOf(l *Log, events []Event) []Event {
	var kept []Event
	for _, e := range events {
		if e.Type.IsChange() && !l.Tainted(e.Key) {
			kept = append(kept, e)
		}
	}
	return kept
}

// Expected returns the events that a watch must receive after it has started at the
// version "from". It omits objects that are tainted.
func Expected(l *Log, r *Request, relists []Relist, from api.ResourceVersion) []Event {
	var events []Event
	at := from
	add := func(to api.ResourceVersion) {
		for _, c := range l.changes[l.after(at):] {
			if c.ResourceVersion > to {
				break
			}
			if e, ok := convert(r, c.Key, l.Before(c.Key, c.ResourceVersion), c.Object, c.ResourceVersion); ok {
				events = append(events, e)
			}
		}
		at = max(at, to)
	}
	for _, gap := range relists {
		if gap.To <= at {
			continue
		}
		add(gap.From)
		deleted := gap.To
		if gap.To > gap.From+1 {
			deleted--
		}
		if at > gap.From { // the watch started after the version that the reader relisted from
			gap.From = at
		}
		events = append(events, difference(l, r, gap, deleted)...)
		at = gap.To
	}
	add(^api.ResourceVersion(0))
	return changesOf(l, events)
}

func convert(r *Request, key api.Key, previous, current *Object, rv api.ResourceVersion) (Event, bool) {
	was, is := r.match(key, previous), r.match(key, current)
	switch {
	case was && is:
		return Event{Type: api.Modified, Key: key, ResourceVersion: rv, Object: current}, true
	case is:
		return Event{Type: api.Added, Key: key, ResourceVersion: rv, Object: current}, true
	case was:
		return Event{Type: api.Deleted, Key: key, ResourceVersion: rv, Object: previous}, true
	}
	return Event{}, false
}

// difference returns the events of a relist in the order of versions: new and changed
// objects, and deletions. The argument deleted is the version of the deletions: the version
// before that of the new list, unless the old state has that version.
func difference(l *Log, r *Request, gap Relist, deleted api.ResourceVersion) []Event {
	var changed, gone []Event
	for _, key := range l.keys {
		previous, current := l.At(key, gap.From), l.At(key, gap.To)
		if previous == current {
			continue
		}
		if r.Scope.Match(key, current) {
			if e, ok := convert(r, key, previous, current, current.ResourceVersion); ok {
				changed = append(changed, e)
			}
		} else if e, ok := convert(r, key, previous, nil, deleted); ok {
			gone = append(gone, e)
		}
	}
	changed = append(changed, gone...)
	slices.SortStableFunc(changed, func(a, b Event) int { return cmp.Compare(a.ResourceVersion, b.ResourceVersion) })
	return changed
}

func same(a, b Event) bool {
	return a.Type == b.Type && a.Key == b.Key && a.ResourceVersion == b.ResourceVersion
}
