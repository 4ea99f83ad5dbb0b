package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// View is one live window.
type View struct {
	cacher  *cacher.Cacher
	heap    *store.Heap
	filter  *watcher.Filter
	all     bool // every object passes the filter
	order   order
	rows    store.Ordered
	keys    []sortKey // by object, for those in rows
	offset  uint32
	limit   uint32
	countBy func(store.Ref) string // nil if rows are not counted
	counts  map[string]*uint64
	shown   window
	// changed means that a patch is needed even if the window's rows are equal.
	// touched means that the rows may differ, which Patch checks.
	changed, touched bool
	detach           func()
}

// New opens a view on a collection with a known schema, or returns why the query
// is invalid. It copies the strings that it keeps.
func New(c *cacher.Cacher, q *wire.OpenView) (*View, *api.Status) {
	if status := checkLimit(q.Limit); status != nil {
		return nil, status
	}
	v := &View{cacher: c, heap: c.Heap(), offset: q.Offset, limit: q.Limit, changed: true}
	var status *api.Status
	if v.order, status = newOrder(v.heap, c.Schema(), strings.Clone(q.Sort)); status != nil {
		return nil, status
	}
	if q.CountBy != "" {
		if v.countBy, status = valueOf(v.heap, c.Schema(), q.CountBy); status != nil {
			return nil, status
		}
	}
	selection, status := selector.Limits{}.Parse(strings.Clone(q.LabelSelector), strings.Clone(q.FieldSelector))
	if status != nil {
		return nil, status
	}
	if v.filter, status = c.NewFilter(strings.Clone(q.Namespace), selection); status != nil {
		return nil, status
	}
	v.all = v.filter.Everything()
	v.load()
	v.shown.heap = v.heap
	v.detach = c.Observe(v)
	return v, nil
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
	v.keys, v.counts = v.keys[:0], map[string]*uint64{}
	state := v.cacher.State()
	state.NumberPlaces()
	v.keys = slices.Grow(v.keys, state.Len()+1)
	ids := make([]store.ID, 0, state.Len())
	state.Objects(func(id store.ID, ref store.Ref) bool {
		if v.filter.Matches(ref) {
			ids = append(ids, id)
			v.setKey(id, v.order.key(ref))
			v.count(ref, 1)
		}
		return true
	})
	v.sort(ids)
	v.rows.Load(ids)
}

func (v *View) setKey(id store.ID, key sortKey) {
	if n := int(id) + 1; n > len(v.keys) {
		v.keys = append(v.keys, make([]sortKey, n-len(v.keys))...)
	}
	v.keys[id] = key
}

// Replaced implements cacher.Observer.
func (v *View) Replaced() {
	total, counts := v.rows.Len(), v.counts
	v.load()
	v.shown.renumber(v.cacher.State())
	v.changed = v.changed || total != v.rows.Len() || !maps.EqualFunc(counts, v.counts, func(a, b *uint64) bool { return *a == *b })
	v.touched = true
}

// Changed implements cacher.Observer. Most changes do not move a row and cost one
// comparison of sort keys.
func (v *View) Changed(id store.ID, e *history.Event) {
	kind, ok := api.Modified, true
	if e.Current == 0 || e.Previous == 0 || !v.all {
		kind, _, ok = v.filter.Convert(e)
	}
	if !ok {
		return
	}
	switch kind {
	case api.Modified:
		if v.countBy != nil {
			v.recount(e.Previous, e.Current)
		}
		if !v.order.fixed && !e.Unchanged.Has(v.order.cell) {
			v.update(id, e)
		}
		v.touched = true
	case api.Added:
		v.count(e.Current, 1)
		v.insert(id, e.Current, v.order.key(e.Current))
		v.changed = true
	case api.Deleted:
		v.count(e.Previous, -1)
		v.remove(id, e.Previous)
		v.changed = true
	}
}

func (v *View) update(id store.ID, e *history.Event) {
	key := v.order.key(e.Current)
	if key == v.keys[id] && v.order.same(key, e.Previous, e.Current) {
		return
	}
	v.remove(id, e.Previous)
	v.insert(id, e.Current, key)
}

func (v *View) insert(id store.ID, ref store.Ref, key sortKey) {
	v.setKey(id, key)
	v.rows.Insert(id, v.before(id, ref))
}

func (v *View) remove(id store.ID, ref store.Ref) { v.rows.Remove(id, v.before(id, ref)) }

// before returns a function that reports whether a row precedes the object, where
// ref is the version that its sort key belongs to. When a row is removed, the
// state has another version of the object, or none.
func (v *View) before(id store.ID, ref store.Ref) func(store.ID) bool {
	key, state := v.keys[id], v.cacher.State()
	exact := v.order.exact(key)
	return func(other store.ID) bool {
		if k := v.keys[other]; k != key {
			return k < key
		}
		if !exact && other != id {
			if c := v.order.compare(state.Version(other), ref); c != 0 {
				return c < 0
			}
		}
		return state.Before(other, id)
	}
}

// recount moves a row from one count to another.
func (v *View) recount(previous, current store.Ref) {
	if v.countBy(previous) != v.countBy(current) {
		v.count(previous, -1)
		v.count(current, 1)
		v.changed = true
	}
}

func (v *View) count(ref store.Ref, by int) {
	if v.countBy == nil {
		return
	}
	value := v.countBy(ref)
	n := v.counts[value]
	if n == nil {
		n = new(uint64)
		v.counts[strings.Clone(value)] = n // value aliases the heap
	}
	*n += uint64(by)
	if *n == 0 {
		delete(v.counts, value)
	}
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
	f.Counts = f.Counts[:0]
	for value, n := range v.counts {
		f.Counts = append(f.Counts, wire.Count{Value: value, Rows: *n})
	}
	lite.Sort(f.Counts, func(a, b *wire.Count) bool { return a.Value < b.Value })
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
