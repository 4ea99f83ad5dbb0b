package dispatch

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// Index finds the filters that may match a change. The cost depends on
// the number of filters found, not on the number of filters in the index. Each
// filter carries a value of type T, such as a watch or a subscription.
//
// Each filter is stored under one condition that it requires, combined with its
// namespace if it has one. Conditions are the value of a field, one of the
// allowed values of a label, and the presence of a label. The index chooses the
// condition shared with the fewest other filters. A filter without such a
// condition, such as "app!=web", is found for every change in its namespace.
//
// A change finds the filters for both of its versions, because an object that
// stops matching also produces an event (rule C24). Filters that are found must
// still be evaluated; all others cannot match (rule C25). If there are only a few
// filters, Find returns all of them, which is cheaper.
type Index[T any] struct {
	arena  *store.Arena
	places map[place]*bucket[T]
	// The tallies record which conditions are in use, without and with a
	// namespace, so that lookups skip all others.
	anywhere, namespaced tally
	order                uint64
	all                  bucket[T]
	found                []*Entry[T] // scratch
	spare                []*Entry[T]
}

// fewEntries is the number of filters up to which Find returns all of them.
const fewEntries = 4

// place is an index key: a condition that a version can meet, in all namespaces
// or in one.
type place struct {
	kind       placeKind
	field      int
	namespace  string
	key, value string
}

type placeKind uint8

const (
	everyObject placeKind = iota
	withField             // field and value
	withLabel             // key and value
	withKey               // the key of a label
)

// tally counts the index keys in use by kind.
type tally struct {
	all        int
	everything int
	fields     []int
	labels     map[string]labelTally
}

// labelTally counts the index keys in use for one label key, by kind.
type labelTally struct{ values, presence int }

//go:noinline
func (t *tally) count(p place, n int) {
	t.all += n
	switch p.kind {
	case everyObject:
		t.everything += n
	case withField:
		for len(t.fields) <= p.field {
			t.fields = append(t.fields, 0)
		}
		t.fields[p.field] += n
	case withLabel, withKey:
		of := t.labels[p.key]
		if p.kind == withLabel {
			of.values += n
		} else {
			of.presence += n
		}
		if t.labels[p.key] = of; of == (labelTally{}) {
			delete(t.labels, p.key)
		}
	}
}

// Entry is a filter in an index. The caller allocates it; it can be in at most
// one index.
type Entry[T any] struct {
	Value  T
	order  uint64
	gone   bool
	places []place
}

// Before reports whether e was added before other.
func (e *Entry[T]) Before(other *Entry[T]) bool { return e.order < other.order }

// NewIndex returns an empty index for versions in the arena.
func NewIndex[T any](arena *store.Arena) Index[T] {
	return Index[T]{
		arena: arena, places: map[place]*bucket[T]{},
		anywhere: tally{labels: map[string]labelTally{}}, namespaced: tally{labels: map[string]labelTally{}},
	}
}

// Add adds a filter. The entry must not be in an index.
func (x *Index[T]) Add(f *watcher.Filter, e *Entry[T]) {
	e.order, e.gone, e.places = x.order, false, x.choose(f)
	x.order++
	x.all.entries = append(x.all.entries, e)
	for _, p := range e.places {
		b := x.places[p]
		if b == nil {
			b = &bucket[T]{}
			x.places[p] = b
			x.count(p, 1)
		}
		b.entries = append(b.entries, e)
	}
}

// Remove removes an entry. Removing it again has no effect.
func (x *Index[T]) Remove(e *Entry[T]) {
	if e.gone {
		return
	}
	e.gone = true
	x.all.remove()
	for _, p := range e.places {
		if b := x.places[p]; b.remove() {
			delete(x.places, p)
			x.count(p, -1)
		}
	}
}

func (x *Index[T]) count(p place, n int) {
	if p.namespace == "" {
		x.anywhere.count(p, n)
	} else {
		x.namespaced.count(p, n)
	}
}

// choose returns the index keys for a filter: those of the condition with the
// fewest other filters. The first one wins a tie, so conditions that are usually
// more selective come first.
func (x *Index[T]) choose(f *watcher.Filter) []place {
	var best []place
	least := 0
	offer := func(places ...place) {
		n := len(places)
		for i := range places {
			places[i].namespace = f.Scope().Namespace
			if b := x.places[places[i]]; b != nil {
				n += b.len()
			}
		}
		if best == nil || n < least {
			best, least = places, n
		}
	}
	f.EachExact(func(field int, value string) {
		offer(place{kind: withField, field: field, value: value})
	})
	requirements := f.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selector.Equals, selector.DoubleEquals, selector.In:
			if !manyValues(&r) {
				offer(labelPlaces(&r)...)
			}
		}
	}
	for _, r := range requirements {
		switch op := r.Operator(); {
		case op == selector.Exists, op == selector.GreaterThan, op == selector.LessThan, op == selector.In && manyValues(&r):
			offer(place{kind: withKey, key: r.Key()})
		}
	}
	if best == nil {
		offer(place{kind: everyObject})
	}
	return best
}

// maxPlaces limits the index keys per filter. A requirement with more values is
// indexed by label key only; otherwise a selector of 8 KiB could use a thousand
// keys.
const maxPlaces = 32

func manyValues(r *selector.Requirement) bool { return r.NumValues() > maxPlaces }

//go:noinline
func labelPlaces(r *selector.Requirement) []place {
	var places []place
	for _, value := range r.Values() {
		places = append(places, place{kind: withLabel, key: r.Key(), value: value})
	}
	return places
}

// Find returns the entries that may match a change, in the order in which they
// were added. The result is valid until the next call of Find.
func (x *Index[T]) Find(e *history.Event) []*Entry[T] {
	if len(x.all.entries) <= fewEntries && x.all.gone == 0 {
		return x.all.entries
	}
	x.found = x.found[:0]
	if x.all.len() <= fewEntries {
		x.merge(&x.all)
		return x.found
	}
	either := e.Current
	if either == 0 {
		either = e.Previous
	}
	x.findIn("", &x.anywhere, e)
	if x.namespaced.all > 0 {
		if namespace := x.arena.Key(either).Namespace(); namespace != "" {
			x.findIn(namespace, &x.namespaced, e)
		}
	}
	return x.found
}

func (x *Index[T]) findIn(namespace string, asked *tally, e *history.Event) {
	if e.Current != 0 {
		x.findVersion(namespace, asked, e.Current, 0, 0)
	}
	if e.Previous != 0 {
		x.findVersion(namespace, asked, e.Previous, e.Current, e.Unchanged)
	}
	if asked.everything > 0 {
		x.look(place{kind: everyObject, namespace: namespace})
	}
}

// findVersion finds the filters for a version. It skips conditions that the
// version found also meets, because their filters were already found. shared
// lists cells that are equal in both.
func (x *Index[T]) findVersion(namespace string, asked *tally, ref, found store.Ref, shared api.Cells) {
	for i, n := range asked.fields {
		if n == 0 || shared.Has(api.FieldCell(i)) {
			continue
		}
		value := x.arena.Envelope(ref).Field(i)
		if found == 0 || x.arena.Envelope(found).Field(i) != value {
			x.look(place{kind: withField, namespace: namespace, field: i, value: value})
		}
	}
	if len(asked.labels) == 0 || found != 0 && x.arena.LabelSet(found) == x.arena.LabelSet(ref) {
		return
	}
	for _, l := range x.arena.LabelsOf(ref) {
		of := asked.labels[l.Key]
		if of.values > 0 {
			x.look(place{kind: withLabel, namespace: namespace, key: l.Key, value: l.Value})
		}
		if of.presence > 0 {
			x.look(place{kind: withKey, namespace: namespace, key: l.Key})
		}
	}
}

func (x *Index[T]) look(p place) {
	if b := x.places[p]; b != nil {
		x.merge(b)
	}
}

// merge adds the entries of a bucket to x.found, in order and without duplicates.
//
//go:noinline
func (x *Index[T]) merge(b *bucket[T]) {
	was, all := x.found, x.spare[:0]
	for _, e := range b.entries {
		if e.gone {
			continue
		}
		for len(was) > 0 && was[0].order < e.order {
			all, was = append(all, was[0]), was[1:]
		}
		if len(was) == 0 || was[0] != e {
			all = append(all, e)
		}
	}
	all = append(all, was...)
	x.found, x.spare = all, x.found
}

// bucket is a list of entries in insertion order. Removed entries are dropped
// once they outnumber the others, which makes removal cheap.
type bucket[T any] struct {
	entries []*Entry[T]
	gone    int
}

func (b *bucket[T]) len() int { return len(b.entries) - b.gone }

// remove counts a removed entry and reports whether it was the last one.
//
//go:noinline
func (b *bucket[T]) remove() (empty bool) {
	if b.gone++; b.gone > len(b.entries)/2 {
		kept := make([]*Entry[T], 0, b.len())
		for _, e := range b.entries {
			if !e.gone {
				kept = append(kept, e)
			}
		}
		b.entries, b.gone = kept, 0
	}
	return len(b.entries) == 0
}
