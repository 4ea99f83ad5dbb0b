package view

import (
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// View is one live window.
type View struct {
	cacher *cacher.Cacher
	heap   *store.Heap
	match  matcher
	ages   ages
	ticked int64   // time of the last evaluation of ages
	levels []level // of the order
	fixed  bool    // no change moves a row
	rows   store.Ordered
	keys   [][]sortKey // by level and object, for those in rows
	offset uint32
	limit  uint32
	facets []facet
	shown  window
	// changed means that a patch is needed even if the window's rows are equal.
	// touched means that the rows may differ, which Patch checks.
	changed, touched bool
	detach           func()
}

// New opens a view on a collection with a known schema, or returns why the query
// is invalid. It copies the strings that it retains. now is the time that ages refer
// to, in milliseconds since the epoch.
func New(c *cacher.Cacher, q *wire.OpenView, now int64) (*View, *api.Status) {
	if status := checkLimit(q.Limit); status != nil {
		return nil, status
	}
	v := &View{cacher: c, heap: c.Heap(), offset: q.Offset, limit: q.Limit, changed: true}
	sort, status := query.ParseSort(c.Schema(), lite.Clone(q.Sort))
	if status != nil {
		return nil, status
	}
	v.order(sort)
	facets, status := query.ParseFacets(c.Schema(), q.Facets)
	if status != nil {
		return nil, status
	}
	if v.facets, status = newFacets(v.heap, facets, q.Facets); status != nil {
		return nil, status
	}
	if v.match, status = newMatcher(c, q, facets, now); status != nil {
		return nil, status
	}
	if v.match.where.Ages() {
		v.ages.at = map[store.ID]int64{}
	}
	v.resetFacets()
	v.load()
	v.shown.heap = v.heap
	v.detach = c.Observe(v)
	return v, nil
}

func (v *View) order(sort query.Sort) {
	v.levels, v.fixed = newLevels(v.heap, sort), true
	for i := range v.levels {
		v.fixed = v.fixed && (v.levels[i].byKey || v.levels[i].by.Fixed())
	}
	v.keys = make([][]sortKey, len(v.levels))
}

func checkLimit(limit uint32) *api.Status {
	if limit > wire.MaxViewRows {
		return api.BadRequest("a view's window has at most " + strconv.Itoa(wire.MaxViewRows) + " rows, not " +
			strconv.FormatUint(uint64(limit), 10) + "; use a smaller limit and move the window")
	}
	return nil
}

// load sorts all objects at once, which is faster than inserting them one by one.
func (v *View) load() {
	clear(v.ages.at)
	v.ages.next = 0
	state := v.cacher.State()
	state.NumberPlaces()
	for i := range v.keys {
		v.keys[i] = slices.Grow(v.keys[i][:0], state.Len()+1)
	}
	ids := make([]store.ID, 0, state.Len())
	state.Objects(func(id store.ID, ref store.Ref) bool {
		v.trackAge(id, ref)
		failed := v.match.failures(ref)
		if failed == 0 {
			ids = append(ids, id)
			v.setKeys(id, ref)
		}
		for i := range v.facets {
			if v.facets[i].counted(failed) {
				v.facets[i].count(id, ref, 1)
			}
		}
		return true
	})
	v.sort(ids)
	v.rows.Load(ids)
}

// setKeys computes the sort keys of an object from one of its versions.
func (v *View) setKeys(id store.ID, ref store.Ref) {
	for i := range v.levels {
		keys := v.keys[i]
		if n := int(id) + 1; n > len(keys) {
			keys = append(keys, make([]sortKey, n-len(keys))...)
			v.keys[i] = keys
		}
		keys[id] = v.levels[i].key(ref)
	}
}

// resetFacets removes all groups, and returns the previous ones.
func (v *View) resetFacets() []map[string]*group {
	before := make([]map[string]*group, len(v.facets))
	for i := range v.facets {
		before[i] = v.facets[i].reset()
	}
	return before
}

// Replaced implements cacher.Observer.
func (v *View) Replaced() {
	total, counts := v.rows.Len(), v.resetFacets()
	v.load()
	v.shown.renumber(v.cacher.State())
	v.changed = v.changed || total != v.rows.Len()
	for i := range v.facets {
		v.changed = v.changed || !v.facets[i].equals(counts[i])
	}
	v.touched = true
}

// Changed implements cacher.Observer. Most changes do not move a row and cost one
// comparison of sort keys.
func (v *View) Changed(id store.ID, e *history.Event) {
	if v.ages.at != nil {
		defer v.trackAge(id, e.Current)
	}
	t := v.match.transition(e)
	v.apply(id, &t, e)
}

// apply updates rows and facets for a change. The event is nil if only time has passed.
func (v *View) apply(id store.ID, t *transition, e *history.Event) {
	for i := range v.facets {
		if v.facets[i].change(id, t) {
			v.changed = true
		}
	}
	switch was, is := t.was == 0, t.is == 0; {
	case was && is:
		if e != nil && !v.fixed && v.moves(id, e) {
			v.remove(id, t.previous)
			v.insert(id, t.current)
		}
		v.touched = true
	case is:
		v.insert(id, t.current)
		v.changed = true
	case was:
		v.remove(id, t.previous)
		v.changed = true
	}
}

// moves reports whether a change may move the row of an object.
func (v *View) moves(id store.ID, e *history.Event) bool {
	for i := range v.levels {
		l := &v.levels[i]
		if l.untouched(e) {
			continue
		}
		if key := l.key(e.Current); key != v.keys[i][id] || !l.same(key, e) {
			return true
		}
	}
	return false
}

func (v *View) insert(id store.ID, ref store.Ref) {
	v.setKeys(id, ref)
	v.rows.Insert(id, v.before(id, ref))
}

func (v *View) remove(id store.ID, ref store.Ref) { v.rows.Remove(id, v.before(id, ref)) }

// before returns a function that reports whether a row precedes the object, where
// ref is the version that its sort keys belong to. When a row is removed, the
// state has another version of the object, or none.
func (v *View) before(id store.ID, ref store.Ref) func(store.ID) bool {
	state := v.cacher.State()
	if len(v.levels) == 0 {
		return func(other store.ID) bool { return state.Before(other, id) }
	}
	keys, key := v.keys[0], v.keys[0][id]
	decided := len(v.levels) == 1 && v.levels[0].exact(key)
	return func(other store.ID) bool {
		if k := keys[other]; k != key {
			return k < key
		}
		if !decided && other != id {
			if c := v.compare(0, other, state.Version(other), id, ref); c != 0 {
				return c < 0
			}
		}
		return state.Before(other, id)
	}
}

// compare orders two rows by their values, starting at a sort level. Zero means that
// the keys of the objects decide.
func (v *View) compare(from int, a store.ID, aRef store.Ref, b store.ID, bRef store.Ref) int {
	for i := from; i < len(v.levels); i++ {
		l, ka, kb := &v.levels[i], v.keys[i][a], v.keys[i][b]
		switch {
		case ka < kb:
			return -1
		case ka > kb:
			return 1
		}
		if !l.exact(ka) {
			if c := l.compare(aRef, bRef); c != 0 {
				return c
			}
		}
	}
	return 0
}

// Move moves the window.
func (v *View) Move(offset, limit uint32) *api.Status {
	if status := checkLimit(limit); status != nil {
		return status
	}
	v.offset, v.limit, v.changed = offset, limit, true
	return nil
}

// Adopt takes over the rows last sent by another view of the same collection, so
// that the next patch edits them. If the heap has changed, the next patch resets
// the window instead. Adopt closes the other view.
func (v *View) Adopt(old *View) {
	if old.heap == v.heap {
		v.shown, old.shown = old.shown, window{heap: old.heap}
	}
	old.Close()
}

// Close detaches the view from its collection.
func (v *View) Close() {
	v.detach()
	v.shown.clear()
}

// Patch sets f to the difference between the window last returned and the current
// one. It returns false if there is none. The frame aliases the heap and buffers
// of the view: append it before anything changes.
func (v *View) Patch(f *wire.ViewPatch) bool {
	if !v.changed && !v.touched {
		return false
	}
	rows := v.visible()
	news := v.changed || !v.shown.same(rows)
	v.changed, v.touched = false, false
	if !news {
		return false
	}
	f.ResourceVersion = v.cacher.ResourceVersion()
	f.Total = uint64(v.rows.Len())
	f.Offset = v.offset
	f.Facets = f.Facets[:0]
	for i := range v.facets {
		f.Facets = append(f.Facets, v.facets[i].report())
	}
	v.shown.move(rows, f)
	return true
}

// visible returns the rows of the window.
func (v *View) visible() []shownRow {
	rows, state := v.shown.spare[:0], v.cacher.State()
	if v.limit == 0 {
		return rows
	}
	offset := int(v.offset)
	v.rows.From(offset, func(id store.ID) bool {
		rows = append(rows, shownRow{id, state.Version(id)})
		return len(rows) < int(v.limit)
	})
	return rows
}
