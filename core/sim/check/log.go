package check

import (
	"slices"
	"sort"

	"github.com/watchglass/watchglass/core/api"
)

// Object is one version of an object, with the data that requests can refer to.
type Object struct {
	UID, Owner      string
	ResourceVersion api.ResourceVersion
	Labels          map[string]string
	Fields          map[string]string
	// Faulty means that this version cannot be served. Readers keep the previous
	// version, if they have one.
	Faulty bool
}

// Change is the effect of one revision on one object. A change without an object is
// a deletion.
type Change struct {
	ResourceVersion api.ResourceVersion
	Key             api.Key
	Object          *Object
}

// Log contains all changes of a resource, in order.
type Log struct {
	changes []Change
	keys    []api.Key // sorted
	byKey   map[api.Key][]int
	tainted map[api.Key]bool
}

// NewLog returns a log without changes.
func NewLog() *Log {
	return &Log{byKey: map[api.Key][]int{}, tainted: map[api.Key]bool{}}
}

// Append adds a change. The version of the change must not be lower than that of the last
// change.
func (l *Log) Append(c Change) {
	if _, known := l.byKey[c.Key]; !known {
		at, _ := slices.BinarySearch(l.keys, c.Key)
		l.keys = slices.Insert(l.keys, at, c.Key)
	}
	l.byKey[c.Key] = append(l.byKey[c.Key], len(l.changes))
	l.changes = append(l.changes, c)
	if c.Object != nil && c.Object.Faulty {
		l.tainted[c.Key] = true
	}
}

// Keys returns the sorted keys of all objects that ever existed. The caller must not
// modify the slice.
func (l *Log) Keys() []api.Key { return l.keys }

// Tainted reports whether an object ever had a faulty version. Correct readers may have
// received different versions of such an object.
func (l *Log) Tainted(key api.Key) bool { return l.tainted[key] }

// At returns the object as of a version, or nil if it did not exist.
func (l *Log) At(key api.Key, rv api.ResourceVersion) *Object {
	of := l.byKey[key]
	n := sort.Search(len(of), func(i int) bool { return l.changes[of[i]].ResourceVersion > rv })
	if n == 0 {
		return nil
	}
	return l.changes[of[n-1]].Object
}

// TaintedChanges counts the changes of tainted objects after the version "from", up to
// and including the version "to". Validators accept watches with and without these
// changes.
func (l *Log) TaintedChanges(from, to api.ResourceVersion) (n int) {
	for _, c := range l.changes[l.after(from):] {
		if c.ResourceVersion <= to && l.Tainted(c.Key) {
			n++
		}
	}
	return n
}

// ChangesAfter counts the changes after a version.
func (l *Log) ChangesAfter(rv api.ResourceVersion) int { return len(l.changes) - l.after(rv) }

// EverMatched reports whether any version of an object matched. A faulty version never
// matches, because its labels and fields are not known.
func (l *Log) EverMatched(key api.Key, match func(api.Key, *Object) bool) bool {
	return slices.ContainsFunc(l.byKey[key], func(i int) bool {
		o := l.changes[i].Object
		return o != nil && !o.Faulty && match(key, o)
	})
}

// Before returns the object just before a version, or nil if it did not exist.
func (l *Log) Before(key api.Key, rv api.ResourceVersion) *Object {
	if rv == 0 {
		return nil
	}
	return l.At(key, rv-1)
}

// Exact reports whether no object is faulty as of a version, so that the state of
// readers is determined.
func (l *Log) Exact(rv api.ResourceVersion) bool {
	for key := range l.tainted {
		if o := l.At(key, rv); o != nil && o.Faulty {
			return false
		}
	}
	return true
}

// List returns the objects that match as of a version, in key order.
func (l *Log) List(rv api.ResourceVersion, match func(api.Key, *Object) bool) []Item {
	var list []Item
	for _, key := range l.keys {
		if o := l.At(key, rv); match(key, o) {
			list = append(list, Item{key, o})
		}
	}
	return list
}

// Item is an object with its key.
type Item struct {
	Key    api.Key
	Object *Object
}

// after returns the index of the first change after a version.
func (l *Log) after(rv api.ResourceVersion) int {
	return sort.Search(len(l.changes), func(i int) bool { return l.changes[i].ResourceVersion > rv })
}

// versions returns the version "from", and all later versions with changes up to and
// including the version "to".
func (l *Log) versions(from, to api.ResourceVersion) []api.ResourceVersion {
	list := []api.ResourceVersion{from}
	for _, c := range l.changes[l.after(from):] {
		if c.ResourceVersion > to {
			break
		}
		if c.ResourceVersion != list[len(list)-1] {
			list = append(list, c.ResourceVersion)
		}
	}
	return list
}
