package view

import (
	"slices"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// View is one live window.
type View struct {
	cacher  *cacher.Cacher
	heap    *store.Heap
	filter  *watcher.Filter
	compare func(a, b store.Ref) int
	rows    *store.Ordered
	offset  uint32
	limit   uint32
	countBy func(store.Ref) string // nil for none
	counts  map[string]*uint64
	shown   window
	changed bool
	detach  func()
}

// New opens a view on a collection whose schema is known, or says what is wrong
// with the query. The strings of the query are copied where they are kept.
func New(c *cacher.Cacher, q *wire.OpenView) (*View, *api.Status) {
	if status := checkLimit(q.Limit); status != nil {
		return nil, status
	}
	v := &View{cacher: c, heap: c.Heap(), offset: q.Offset, limit: q.Limit, counts: map[string]*uint64{}, changed: true}
	compare, status := compareBy(v.heap, c.Schema(), strings.Clone(q.Sort))
	if status != nil {
		return nil, status
	}
	if q.CountBy != "" {
		if v.countBy, status = valueOf(v.heap, c.Schema(), q.CountBy); status != nil {
			return nil, status
		}
	}
	v.filter, status = c.NewFilter(strings.Clone(q.Namespace), strings.Clone(q.LabelSelector), strings.Clone(q.FieldSelector))
	if status != nil {
		return nil, status
	}
	v.compare, v.rows = compare, store.NewOrdered(compare)
	v.load()
	v.shown.heap = v.heap
	v.detach = c.Observe(v.Changed)
	return v, nil
}

func checkLimit(limit uint32) *api.Status {
	if limit > wire.MaxViewRows {
		return api.BadRequest("a view's window has at most " + strconv.Itoa(wire.MaxViewRows) + " rows, not " +
			strconv.FormatUint(uint64(limit), 10) + "; use a smaller limit and move the window")
	}
	return nil
}

// load sorts what is there at once, which is cheaper than row by row.
func (v *View) load() {
	var refs []store.Ref
	v.cacher.Ascend("", func(ref store.Ref) bool {
		if v.filter.Matches(ref) {
			refs = append(refs, ref)
			v.count(ref, 1)
		}
		return true
	})
	slices.SortFunc(refs, v.compare)
	for _, ref := range refs {
		v.rows.Set(ref)
	}
}

// Changed keeps the rows in step with the collection. Most changes leave a row
// where it is, and then cost one search.
func (v *View) Changed(e *history.Event) {
	was, is := v.filter.Matches(e.Previous), v.filter.Matches(e.Current)
	if was && !(is && v.compare(e.Previous, e.Current) == 0) {
		v.rows.Remove(e.Previous)
	}
	if is {
		v.rows.Set(e.Current) // in the place of the previous version, if that is there
		v.count(e.Current, 1)
	}
	if was {
		v.count(e.Previous, -1)
	}
	v.changed = v.changed || was || is
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

// Adopt takes over what another view of the same collection has shown, so that
// the next patch is the difference to that. The other view is closed.
func (v *View) Adopt(old *View) {
	if old.heap == v.heap {
		v.shown, old.shown = old.shown, window{heap: old.heap}
	}
	old.Close()
}

// Close detaches the view from its collection.
func (v *View) Close() {
	v.detach()
	v.cacher.ReleaseFilter(v.filter)
	v.shown.clear()
}

// Patch fills f with the difference between the window last handed out and the
// window now, or reports that there is none. The frame aliases the heap and the
// view's scratch: append it before anything changes.
func (v *View) Patch(f *wire.ViewPatch) bool {
	if !v.changed {
		return false
	}
	v.changed = false
	f.ResourceVersion = v.cacher.ResourceVersion()
	f.Total = uint64(v.rows.Len())
	f.Offset = v.offset
	f.Counts = f.Counts[:0]
	for value, n := range v.counts {
		f.Counts = append(f.Counts, wire.Count{Value: value, Rows: *n})
	}
	slices.SortFunc(f.Counts, func(a, b wire.Count) int { return strings.Compare(a.Value, b.Value) })
	refs := make([]store.Ref, 0, min(int(v.limit), v.rows.Len()))
	offset := int(v.offset)
	if api.Mutated(api.ViewRankOffByOne) && offset > 0 {
		offset--
	}
	v.rows.From(offset, func(ref store.Ref) bool {
		if len(refs) == int(v.limit) {
			return false
		}
		refs = append(refs, ref)
		return true
	})
	v.shown.move(refs, f)
	return true
}
