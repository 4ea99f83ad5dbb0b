package view

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
)

// A view evaluates all objects when it opens and after a relist. It does so in steps, so
// that no call of the engine takes long. Meanwhile the view has no rows and sends no
// patch.
//
// The view first scans the objects in key order to count facets and compute sort keys, and then
// sorts the rows. A change to an object that was not scanned yet needs no work. A change to a
// scanned object updates the facets; the row of the object is inserted after the sort.
//
// A view that starts from the rows of a broader view only reads the search texts of
// these rows, and adopts their order.

// build is the state of an evaluation of all objects.
type build struct {
	from    *View    // the broader view, or nil
	next    store.ID // the next object of the broader view
	cursor  api.Key  // key of the last scanned object; "" before the first
	scanned bool     // all objects are scanned
	ids     []store.ID
	tasks   []sortTask
	// moved are the rows whose position in ids is wrong, in any order.
	moved   []store.ID
	isMoved map[store.ID]bool
	// If relisted is set, total is the number of rows before the relist, and counts contains
	// the earlier groups of the facets.
	relisted bool
	total    int
	counts   []map[string]*group
}

// The costs of the parts of an evaluation, in units of about 10 ns.
const (
	costSkip      = 1
	costRow       = 16
	costWord      = 4
	costCondition = 8
	costLevel     = 16
	costFacet     = 8
	costAggregate = 128
	costCompare   = 16
)

// rowCost returns the work needed to evaluate one object. The limits of queries bound this
// work.
func (v *View) rowCost() int {
	cost := costRow + costWord*v.match.search.Len() + costLevel*len(v.levels) + costFacet*len(v.facets)
	v.match.where.Operands(func(*query.Operand) { cost += costCondition })
	for i := range v.facets {
		cost += costAggregate * len(v.facets[i].aggregates)
	}
	return cost
}

// Building reports whether the view must evaluate all objects, or is still doing so.
func (v *View) Building() bool { return v.build != nil || v.full() }

// Build continues the evaluation of all objects until it is complete, or until it has done
// about the given work, in units of about 10 ns. It returns the unused work. Every call with
// positive work makes progress.
func (v *View) Build(work int) int {
	for v.Building() && work > 0 {
		work -= v.step(work)
	}
	return work
}

// begin starts the evaluation of all objects. If from is not nil, it is a broader view whose
// rows are the only candidates.
func (v *View) begin(from *View) {
	before := v.build
	b := &build{from: from, isMoved: map[store.ID]bool{}}
	if before != nil && before.relisted {
		b.relisted, b.total, b.counts = true, before.total, before.counts
	}
	v.build, v.fails, v.ages.next = b, v.fails[:0], 0
	clear(v.ages.at)
	for i := range v.levels {
		v.levels[i].startRanking()
	}
	v.resetFacets()
	v.rows.Load(nil)
	v.cacher.State().EnableRanks()
}

// step performs a part of the evaluation, and returns the work that was done.
func (v *View) step(work int) int {
	b := v.build
	switch {
	case v.full() || b.from != nil && (b.from.closed || b.from.Building()):
		v.begin(nil)
		return costRow
	case b.from != nil:
		return v.narrow(work)
	case !b.scanned:
		return v.scan(work)
	case len(b.tasks) > 0:
		return v.sortStep(work)
	}
	v.complete()
	return costRow
}

// scan evaluates objects in key order, and returns the work that was done.
func (v *View) scan(work int) (done int) {
	b, last := v.build, store.Ref(0)
	if b.cursor == "" {
		v.reserve(v.cacher.State().Len() + 1)
	}
	v.cacher.State().After(b.cursor, func(id store.ID, ref store.Ref) bool {
		last = ref
		v.evaluate(id, ref)
		done += v.cost
		return done < work
	})
	if last != 0 {
		b.cursor = api.Key(lite.Clone(string(v.arena.Key(last))))
	}
	if done < work && !v.full() {
		b.scanned = true
		v.startSort()
	}
	return max(done, costRow)
}

// reserve allocates the memory by object that the evaluation of n objects usually needs.
// IDs may be greater than n.
func (v *View) reserve(n int) {
	for i := range v.keys {
		v.keys[i] = atLeast(v.keys[i], n)
	}
	v.reserveFailures(n)
}

//go:noinline
func (v *View) reserveFailures(n int) { v.fails = slices.Grow(v.fails, n) }

// evaluate determines whether an object is a row, and computes the sort keys of a row. It
// also counts the object in the facets that include it.
func (v *View) evaluate(id store.ID, ref store.Ref) {
	v.trackAge(id, ref)
	row := v.readRow(ref)
	if !v.match.selects(id, ref, false, row.Cells) {
		v.setFailures(id, other)
		return
	}
	failed := v.match.failing(&row)
	v.setFailures(id, failed)
	if failed == 0 {
		v.build.ids = append(v.build.ids, id)
		v.buildKeys(id, ref, &row)
	}
	v.countFacets(id, &row, failed)
}

// readRow returns a version with all values that the query needs. It is valid until the
// next call.
func (v *View) readRow(ref store.Ref) query.Row {
	row := rowOf(v.arena, ref, v.labels)
	row.Now = v.match.now
	if v.needsCells {
		v.cells.Read(row.Envelope)
		row.Cells = &v.cells
	}
	return row
}

func (v *View) countFacets(id store.ID, row *query.Row, failed failures) {
	for i := range v.facets {
		if v.facets[i].counted(failed) {
			v.facets[i].count(id, row, 1)
		}
	}
}

// narrow evaluates the search for the rows of the broader view, and returns the work that
// was done.
func (v *View) narrow(work int) (done int) {
	b, state := v.build, v.cacher.State()
	candidates, cost := b.from.fails, costWord*(1+v.match.search.Len())
	if b.next == 0 {
		v.reserveFailures(len(candidates))
	}
	for int(b.next) < len(candidates) {
		if done >= work {
			return done
		}
		id := b.next
		b.next++
		done += costSkip
		failed := candidates[id]
		if failed == other {
			continue
		}
		done += cost
		ref := state.Version(id)
		if !v.match.search.narrows(id, ref) {
			continue
		}
		v.setFailures(id, failed)
		if len(v.facets) > 0 {
			done += v.cost
			row := v.readRow(ref)
			v.countFacets(id, &row, failed)
		}
	}
	v.adoptOrder(b.from)
	v.completed()
	return done + costSkip
}

// adoptOrder loads the rows in the order of a broader view, copies the sort keys of that view,
// and shares its rankings.
func (v *View) adoptOrder(from *View) {
	ids := make([]store.ID, 0, from.rows.Len())
	from.rows.From(0, func(id store.ID) bool {
		if v.failures(id) == 0 {
			ids = append(ids, id)
		}
		return true
	})
	v.rows.Load(ids)
	for i := range v.keys {
		v.keys[i] = slices.Clone(from.keys[i])
		v.levels[i].ranking, v.levels[i].unranked = from.levels[i].ranking, from.levels[i].unranked
	}
}

// complete loads the sorted rows, and inserts those that moved during the evaluation.
func (v *View) complete() {
	b := v.build
	ids := b.ids[:0]
	for _, id := range b.ids {
		if len(b.moved) == 0 || !b.isMoved[id] {
			ids = append(ids, id)
		}
	}
	v.rows.Load(ids)
	for _, id := range b.moved {
		if v.failures(id) == 0 {
			v.insert(id, v.cacher.State().Version(id))
		}
	}
	v.completed()
}

func (v *View) completed() {
	b := v.build
	v.build, v.match.search.decided = nil, 0
	v.changed = v.changed || b.relisted && b.total != v.rows.Len()
	for i := range v.facets {
		v.changed = v.changed || b.relisted && !v.facets[i].equals(b.counts[i])
	}
	v.touched = true
}

// reads reports whether the evaluation has read the object of a change.
func (b *build) reads(v *View, id store.ID, e *history.Event) bool {
	if b.from != nil {
		return id < b.next
	}
	ref := e.Current
	if ref == 0 {
		ref = e.Previous
	}
	return b.scanned || v.arena.Key(ref) <= b.cursor
}

// move records that the position of a row must be determined again after the sort.
func (b *build) move(id store.ID) {
	if b.from == nil && !b.isMoved[id] {
		b.isMoved[id] = true
		b.moved = append(b.moved, id)
	}
}
