package view

import (
	"maps"
	"math"
	"strconv"
	"unsafe"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// facet counts rows by value, or by a pair of values. It also counts objects that only
// the conditions on its own operands exclude from the rows.
type facet struct {
	arena *store.Arena
	by    []query.Operand
	// own is the bit in failures for the conditions that the facet ignores.
	own        failures
	limit      int
	width      float64 // width of intervals, or zero
	labels     bool    // an operand reads labels
	groups     map[string]*group
	rows       uint64 // of all groups
	created    uint32 // number of groups created so far
	aggregates []aggregate
	// list contains the groups in any order.
	list []*group
	// top contains the groups that were reported last, sorted by value. regrouped means that
	// groups were created or removed since.
	top       []*group
	regrouped bool
	// frequent contains the groups with at least as many rows as the least frequent one in top,
	// sorted by value.
	frequent []*group
	// changed means that shown is outdated.
	changed bool
	shown   wire.FacetCounts
	last    *group // group of the row that was counted last
	// Buffers.
	key          []byte
	counts       []uint64
	added, spare []*group
}

// group is the set of rows with one value, or one pair of values.
type group struct {
	key  string
	then int // offset of the second value in the key
	rows uint64
	// number identifies the group within the facet.
	number uint32
	index  int // in facet.list
	// frequent means that facet.frequent contains the group.
	frequent bool
	sums     []sum
}

// pairLength is the size of the length field at the end of a pair's key.
const pairLength = 4

// defaultFacetValues is the number of values that a facet reports by default.
const defaultFacetValues = 100

func newFacets(arena *store.Arena, parsed []query.Facet, requested []wire.Facet) ([]facet, *api.Status) {
	facets := make([]facet, len(parsed))
	for i := range facets {
		limit := int(requested[i].Limit)
		if limit == 0 {
			limit = defaultFacetValues
		}
		if limit > wire.MaxFacetValues {
			return nil, api.BadRequest("a facet reports at most 1000 values; use a smaller limit")
		}
		f := &facets[i]
		*f = facet{arena: arena, by: parsed[i].By, own: 1 << i, limit: limit, width: float64(requested[i].Width)}
		for _, of := range parsed[i].Aggregates {
			f.aggregates = append(f.aggregates, aggregate{of: of})
			f.labels = f.labels || of.NeedsLabels()
		}
		for j := range f.by {
			f.labels = f.labels || f.by[j].NeedsLabels()
		}
	}
	return facets, nil
}

// reset removes all groups, and returns the previous ones.
func (f *facet) reset() map[string]*group {
	before := f.groups
	f.groups, f.list, f.frequent, f.rows, f.regrouped, f.changed, f.last = map[string]*group{}, nil, nil, 0, true, true, nil
	for i := range f.aggregates {
		f.aggregates[i].order.Load(nil)
	}
	return before
}

// equals reports whether the facet is known to have the given groups. Aggregates are not
// compared, so the result is false for a facet with aggregates.
func (f *facet) equals(groups map[string]*group) bool {
	return f.aggregates == nil && maps.EqualFunc(groups, f.groups, func(a, b *group) bool { return a.rows == b.rows })
}

// counted reports whether the facet counts a version with these failures.
func (f *facet) counted(failed failures) bool { return failed&^f.own == 0 }

// change updates the groups for a change to an object, and reports whether the change affects
// them.
func (f *facet) change(id store.ID, c *transition) bool {
	was, is := f.counted(c.was), f.counted(c.is)
	if !was && !is || was && is && f.same(c) {
		return false
	}
	if was {
		row := f.row(c.previous)
		f.count(id, &row, -1)
	}
	if is {
		row := f.row(c.current)
		f.count(id, &row, 1)
	}
	return true
}

// same reports whether a change preserves the values and the numbers of an object.
func (f *facet) same(c *transition) bool {
	for i := range f.by {
		if !f.sameValue(&f.by[i], c) {
			return false
		}
	}
	for i := range f.aggregates {
		if !f.sameValue(&f.aggregates[i].of, c) {
			return false
		}
	}
	return true
}

func (f *facet) sameValue(o *query.Operand, c *transition) bool {
	if o.Same(c.unchanged, c.sameLabels) {
		return true
	}
	previous, current := f.row(c.previous), f.row(c.current)
	return o.Value(&previous).Compare(o.Value(&current)) == 0
}

func (f *facet) row(ref store.Ref) query.Row { return rowOf(f.arena, ref, f.labels) }

// value returns the first value by which an object is counted, or the start of the
// interval that contains the value. The result may alias the row.
func (f *facet) value(row *query.Row) string {
	if f.width > 0 {
		n, ok := numberOf(f.by[0].Value(row))
		if !ok {
			return ""
		}
		return strconv.FormatInt(int64(math.Floor(n/f.width)*f.width), 10)
	}
	return textOf(&f.by[0], row)
}

// textOf returns the value of an operand as text, which may alias the row.
func textOf(o *query.Operand, row *query.Row) string {
	if text, ok := o.Text(row); ok {
		return text
	}
	return o.Value(row).String()
}

func (f *facet) count(id store.ID, row *query.Row, by int) {
	f.changed = true
	g := f.group(row)
	f.rows += uint64(by)
	if g.rows += uint64(by); g.rows == 0 {
		f.remove(g)
	}
	for i := range f.aggregates {
		f.aggregates[i].count(id, row, g.number, &g.sums[i], by)
	}
}

// group returns the group of a row, and creates it if it does not exist.
func (f *facet) group(row *query.Row) *group {
	key := f.value(row)
	then := len(key)
	if len(f.by) > 1 {
		f.key = append(append(f.key[:0], key...), textOf(&f.by[1], row)...)
		// The length distinguishes ("ab", "c") from ("a", "bc").
		f.key = append(f.key, byte(then), byte(then>>8), byte(then>>16), byte(then>>24))
		key = unsafe.String(unsafe.SliceData(f.key), len(f.key))
	}
	if f.last != nil && f.last.rows > 0 && f.last.key == key {
		return f.last
	}
	g := f.groups[key]
	if g == nil {
		f.created++
		g = &group{key: lite.Clone(key), then: then, number: f.created, sums: make([]sum, len(f.aggregates))}
		g.index = len(f.list)
		f.groups[g.key], f.list, f.regrouped = g, appendGroup(f.list, g), true
	}
	f.last = g
	return g
}

// remove removes a group that has no rows.
func (f *facet) remove(g *group) {
	delete(f.groups, g.key)
	last := len(f.list) - 1
	f.list[g.index], f.list[last].index = f.list[last], g.index
	f.list[last] = nil // release the reference
	f.list, f.regrouped = f.list[:last], true
}

// report returns the most frequent values, sorted by value, and totals of the other
// values. It prefers smaller values among equally frequent ones.
func (f *facet) report() wire.FacetCounts {
	if !f.changed {
		return f.shown
	}
	f.changed = false
	if f.regrouped || len(f.list) > f.limit {
		f.chooseTop()
	}
	counts := wire.FacetCounts{Values: f.shown.Values[:0], OtherRows: f.rows, OtherValues: uint64(len(f.list) - len(f.top))}
	for _, g := range f.top {
		counts.OtherRows -= g.rows
		c := wire.Count{Rows: g.rows}
		c.Value, c.Then = g.values()
		for i := range f.aggregates {
			c.Aggregates = append(c.Aggregates, f.aggregates[i].report(g.number, &g.sums[i]))
		}
		counts.Values = append(counts.Values, c)
	}
	f.shown = counts
	return counts
}

// chooseTop sets top to the most frequent groups. It prefers smaller values among equally
// frequent ones. Most groups stay frequent, so it sorts only those that have become frequent, and
// merges them with the others.
func (f *facet) chooseTop() {
	rows, more := f.leastRows(), 0
	merged, added := f.spare[:0], f.added[:0]
	for _, g := range f.list {
		if g.rows > rows {
			more++
		}
		if g.rows >= rows && !g.frequent {
			g.frequent, added = true, appendGroup(added, g)
		}
	}
	f.added = added
	lite.Sort(added, func(a, b **group) bool { return (*a).precedes(*b) })
	for _, g := range f.frequent {
		if g.rows == 0 || g.rows < rows {
			g.frequent = false
			continue
		}
		for len(added) > 0 && added[0].precedes(g) {
			merged, added = appendGroup(merged, added[0]), added[1:]
		}
		merged = appendGroup(merged, g)
	}
	f.frequent, f.spare = append(merged, added...), f.frequent

	f.regrouped, f.top = false, f.top[:0]
	rest := f.limit - more
	for _, g := range f.frequent {
		if g.rows == rows {
			if rest == 0 {
				continue
			}
			rest--
		}
		f.top = appendGroup(f.top, g)
	}
}

// appendGroup appends a group. A call takes fewer bytes of the module than append.
//
//go:noinline
func appendGroup(list []*group, g *group) []*group { return append(list, g) }

// leastRows returns the least number that at most as many groups exceed as the facet reports.
func (f *facet) leastRows() uint64 {
	f.counts = f.counts[:0]
	var lo, hi uint64
	for _, g := range f.list {
		f.counts = append(f.counts, g.rows)
		hi = max(hi, g.rows)
	}
	for lo < hi {
		mid, more := lo+(hi-lo)/2, 0
		for _, n := range f.counts {
			if n > mid {
				more++
			}
		}
		if more > f.limit {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (g *group) values() (value, then string) {
	value, then = g.key[:g.then], g.key[g.then:]
	return value, then[:max(len(then)-pairLength, 0)]
}

//go:noinline
func (g *group) precedes(o *group) bool {
	value, then := g.values()
	otherValue, otherThen := o.values()
	return value < otherValue || value == otherValue && then < otherThen
}
