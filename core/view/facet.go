package view

import (
	"maps"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// facet counts rows by value. It includes the rows that only the facet's own
// conditions exclude.
type facet struct {
	heap *store.Heap
	by   query.Operand
	// own are the conditions that the facet ignores.
	own    failures
	limit  int
	counts map[string]*uint64
	// changed means that shown is outdated.
	changed bool
	shown   wire.FacetCounts
}

// defaultFacetValues is the number of values that a facet reports by default.
const defaultFacetValues = 100

func newFacets(heap *store.Heap, by []query.Operand, requested []wire.Facet) ([]facet, *api.Status) {
	facets := make([]facet, len(by))
	for i := range facets {
		limit := int(requested[i].Limit)
		if limit == 0 {
			limit = defaultFacetValues
		}
		if limit > wire.MaxFacetValues {
			return nil, api.BadRequest("a facet reports at most 1000 values; use a smaller limit")
		}
		facets[i] = facet{heap: heap, by: by[i], own: 1 << i, limit: limit}
	}
	return facets, nil
}

// reset removes all counts, and returns the previous ones.
func (f *facet) reset() map[string]*uint64 {
	before := f.counts
	f.counts, f.changed = map[string]*uint64{}, true
	return before
}

func (f *facet) equals(counts map[string]*uint64) bool {
	return maps.EqualFunc(counts, f.counts, func(a, b *uint64) bool { return *a == *b })
}

// counted reports whether a version with these failures counts.
func (f *facet) counted(failed failures) bool { return failed&^f.own == 0 }

// change moves an object from one count to another, and reports whether it did.
func (f *facet) change(c *transition) bool {
	was, is := f.counted(c.was), f.counted(c.is)
	if !was && !is || was && is && (f.by.Same(c.unchanged, c.sameLabels) || f.value(c.previous) == f.value(c.current)) {
		return false
	}
	if was {
		f.count(c.previous, -1)
	}
	if is {
		f.count(c.current, 1)
	}
	return true
}

func (f *facet) value(ref store.Ref) string {
	v := f.by.Value(rowOf(f.heap, ref, f.by.NeedsLabels()))
	if v.Kind == api.String {
		return v.Text
	}
	return v.String()
}

func (f *facet) count(ref store.Ref, by int) {
	f.changed = true
	value := f.value(ref)
	n := f.counts[value]
	if n == nil {
		n = new(uint64)
		f.counts[lite.Clone(value)] = n // value aliases the heap
	}
	*n += uint64(by)
	if *n == 0 {
		delete(f.counts, value)
	}
}

// report returns the most frequent values, sorted by value, and the sum of the
// others. It prefers smaller values among equally frequent ones.
func (f *facet) report() wire.FacetCounts {
	if !f.changed {
		return f.shown
	}
	f.changed = false
	var all, top uint64
	first := f.shown.Values[:0]
	for value, n := range f.counts {
		all += *n
		first = insertTop(first, wire.Count{Value: value, Rows: *n}, f.limit)
	}
	for i := range first {
		top += first[i].Rows
	}
	lite.Sort(first, func(a, b *wire.Count) bool { return a.Value < b.Value })
	f.shown = wire.FacetCounts{Values: first, OtherValues: uint64(len(f.counts) - len(first)), OtherRows: all - top}
	return f.shown
}

// insertTop inserts a count into a list of the most frequent values.
func insertTop(top []wire.Count, c wire.Count, limit int) []wire.Count {
	lo, hi := 0, len(top)
	for lo < hi {
		mid := (lo + hi) / 2
		if t := &top[mid]; t.Rows > c.Rows || t.Rows == c.Rows && t.Value < c.Value {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == limit {
		return top
	}
	if len(top) == limit {
		top = top[:limit-1]
	}
	return lite.Insert(top, lo, c)
}
