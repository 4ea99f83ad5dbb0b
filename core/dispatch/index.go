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
// Each filter is stored under one condition that it requires, combined with its namespace
// if it has one. Conditions are the value of a field, one of the allowed values of a
// label, and the presence of a label. The index chooses the condition that the filter
// shares with the fewest other filters. A filter with none of these conditions, such as
// "app!=web", is found for every change in its namespace.
//
// Find returns the filters for both versions of a change, because an object that
// stops matching also produces an event (rule C24). Filters that are found must still
// be evaluated; all others cannot match (rule C25). If there are only a few filters,
// Find returns all of them, which is cheaper.
type Index[T any] struct {
	arena   *store.Arena
	buckets map[indexKey]*bucket[T]
	// The tallies record which conditions are in use, without and with a
	// namespace, so that lookups skip all other conditions.
	anywhere, namespaced tally
	order                uint64
	all                  bucket[T]
	found                []*Entry[T] // scratch
	spare                []*Entry[T]
}

// fewEntries is the number of filters up to which Find returns all of them.
const fewEntries = 4

// indexKey is a condition that a version can meet, in all namespaces
// or in one.
type indexKey struct {
	kind       keyKind
	field      int
	namespace  string
	key, value string
}

type keyKind uint8

const (
	everyObject keyKind = iota
	withField           // field and value
	withLabel           // key and value
	withKey             // the key of a label
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
func (t *tally) count(k indexKey, n int) {
	t.all += n
	switch k.kind {
	case everyObject:
		t.everything += n
	case withField:
		for len(t.fields) <= k.field {
			t.fields = append(t.fields, 0)
		}
		t.fields[k.field] += n
	case withLabel, withKey:
		of := t.labels[k.key]
		if k.kind == withLabel {
			of.values += n
		} else {
			of.presence += n
		}
		if t.labels[k.key] = of; of == (labelTally{}) {
			delete(t.labels, k.key)
		}
	}
}

// Entry is a filter in an index. The caller allocates the entry, which can be in at
// most one index.
type Entry[T any] struct {
	Value T
	order uint64
	gone  bool
	keys  []indexKey
}

// Before reports whether e was added before other.
func (e *Entry[T]) Before(other *Entry[T]) bool { return e.order < other.order }

// NewIndex returns an empty index for versions in the arena.
func NewIndex[T any](arena *store.Arena) Index[T] {
	return Index[T]{
		arena: arena, buckets: map[indexKey]*bucket[T]{},
		anywhere: tally{labels: map[string]labelTally{}}, namespaced: tally{labels: map[string]labelTally{}},
	}
}

// Add adds a filter. The entry must not be in an index.
func (x *Index[T]) Add(f *watcher.Filter, e *Entry[T]) {
	e.order, e.gone, e.keys = x.order, false, x.choose(f)
	x.order++
	x.all.entries = append(x.all.entries, e)
	for _, k := range e.keys {
		b := x.buckets[k]
		if b == nil {
			b = &bucket[T]{}
			x.buckets[k] = b
			x.count(k, 1)
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
	for _, k := range e.keys {
		if b := x.buckets[k]; b.remove() {
			delete(x.buckets, k)
			x.count(k, -1)
		}
	}
}

func (x *Index[T]) count(k indexKey, n int) {
	if k.namespace == "" {
		x.anywhere.count(k, n)
	} else {
		x.namespaced.count(k, n)
	}
}

// choose returns the index keys for a filter: those of the condition with the fewest
// other filters. In a tie, the first condition wins, so conditions that are usually
// more selective come first.
func (x *Index[T]) choose(f *watcher.Filter) []indexKey {
	var best []indexKey
	least := 0
	offer := func(keys ...indexKey) {
		n := len(keys)
		for i := range keys {
			keys[i].namespace = f.Scope().Namespace
			if b := x.buckets[keys[i]]; b != nil {
				n += b.len()
			}
		}
		if best == nil || n < least {
			best, least = keys, n
		}
	}
	f.EachExact(func(field int, value string) {
		offer(indexKey{kind: withField, field: field, value: value})
	})
	requirements := f.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selector.Equals, selector.DoubleEquals, selector.In:
			if !manyValues(&r) {
				offer(labelKeys(&r)...)
			}
		}
	}
	for _, r := range requirements {
		switch op := r.Operator(); {
		case op == selector.Exists, op == selector.GreaterThan, op == selector.LessThan, op == selector.In && manyValues(&r):
			offer(indexKey{kind: withKey, key: r.Key()})
		}
	}
	if best == nil {
		offer(indexKey{kind: everyObject})
	}
	return best
}

// maxPlaces limits the index keys per filter. A requirement with more values is
// indexed by label key only; otherwise a selector of 8 KiB could use a thousand
// keys.
const maxPlaces = 32

func manyValues(r *selector.Requirement) bool { return r.NumValues() > maxPlaces }

//go:noinline
func labelKeys(r *selector.Requirement) []indexKey {
	var keys []indexKey
	for _, value := range r.Values() {
		keys = append(keys, indexKey{kind: withLabel, key: r.Key(), value: value})
	}
	return keys
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
		x.look(indexKey{kind: everyObject, namespace: namespace})
	}
}

// findVersion finds the filters for a version. It skips conditions that the other
// version, "found", also meets, because the filters of these conditions were already
// found. The set "shared" contains cells that are equal in both versions.
func (x *Index[T]) findVersion(namespace string, asked *tally, ref, found store.Ref, shared api.Cells) {
	for i, n := range asked.fields {
		if n == 0 || shared.Has(api.FieldCell(i)) {
			continue
		}
		value := x.arena.Envelope(ref).Field(i)
		if found == 0 || x.arena.Envelope(found).Field(i) != value {
			x.look(indexKey{kind: withField, namespace: namespace, field: i, value: value})
		}
	}
	if len(asked.labels) == 0 || found != 0 && x.arena.LabelSet(found) == x.arena.LabelSet(ref) {
		return
	}
	for _, l := range x.arena.LabelsOf(ref) {
		of := asked.labels[l.Key]
		if of.values > 0 {
			x.look(indexKey{kind: withLabel, namespace: namespace, key: l.Key, value: l.Value})
		}
		if of.presence > 0 {
			x.look(indexKey{kind: withKey, namespace: namespace, key: l.Key})
		}
	}
}

func (x *Index[T]) look(k indexKey) {
	if b := x.buckets[k]; b != nil {
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

// remove counts a removed entry, and reports whether the bucket is now empty.
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
