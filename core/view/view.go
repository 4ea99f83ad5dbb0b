package view

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// View is one live window over a collection.
type View struct {
	set    *Set
	cacher *cacher.Cacher
	arena  *store.Arena
	// scope identifies the parts of the query that must be equal in a broader view; see
	// Set.broader. It is "" if no view can be broader.
	scope string
	match matcher
	fails []failures // by object; objects beyond the end are not rows
	build *build     // nil if all objects are evaluated
	cost  int        // work that the evaluation of an object takes
	cells wire.CellIndex
	// needsCells means that the evaluation reads columns or fields. The flag labels means
	// that the evaluation reads labels.
	needsCells, labels bool
	ages               ages
	ticked             int64   // time of the last evaluation of ages
	levels             []level // the sort levels of the order
	fixed              bool    // no change of an object moves its row
	rows               store.Ordered
	keys               [][]sortKey // by level and object; set for the objects in rows
	offset             uint32
	limit              uint32
	anchor             anchor
	facets             []facet
	counts             []wire.FacetCounts // a buffer for the counts of a patch
	shown              window
	// changed means that a patch is needed even if the window's rows are equal.
	// touched means that the rows may differ, which Patch checks.
	changed, touched bool
	closed           bool
}

// everything is more work than any view needs.
const everything = 1 << 62

// New opens a view in a set of its own, and builds it.
func New(c *cacher.Cacher, q *wire.OpenView, now int64) (*View, *api.Status) {
	v, status := NewSet(c).Open(q, now)
	if status == nil {
		v.Build(everything)
	}
	return v, status
}

func newView(set *Set, q *wire.OpenView, now int64) (*View, *api.Status) {
	if status := checkLimit(q.Limit); status != nil {
		return nil, status
	}
	c := set.cacher
	v := &View{set: set, cacher: c, arena: c.Arena(), offset: q.Offset, limit: q.Limit, changed: true}
	sort, status := query.ParseSort(c.Schema(), lite.Clone(q.Sort))
	if status != nil {
		return nil, status
	}
	v.order(sort)
	facets, status := query.ParseFacets(c.Schema(), q.Facets)
	if status != nil {
		return nil, status
	}
	if v.facets, status = newFacets(v.arena, facets, q.Facets); status != nil {
		return nil, status
	}
	if v.match, status = newMatcher(c, q, facets, now); status != nil {
		return nil, status
	}
	if v.match.where.Ages() {
		v.ages.at = map[store.ID]int64{}
	}
	v.setAnchor(q.Anchor, q.Before)
	v.scope = v.scopeOf(q)
	v.cost = v.rowCost()
	v.findNeeds(facets)
	v.shown.arena = v.arena
	return v, nil
}

// scopeOf returns the scope of a view. It returns "" if the rows depend on ages or owners,
// because these differ between views with equal queries. It also returns "" if there are
// conditions and facets, because the failures then depend on the facets.
func (v *View) scopeOf(q *wire.OpenView) string {
	if v.ages.at != nil || q.OwnedBy != "" || q.Where != "" && len(q.Facets) > 0 {
		return ""
	}
	const end = "\xff"
	return "view" + end + lite.Join(q.Namespaces, ",") + end + lite.Clone(q.LabelSelector+end+q.FieldSelector+end+q.Where+end+q.Sort)
}

// findNeeds sets needsCells and labels according to the operands of the query.
func (v *View) findNeeds(facets []query.Facet) {
	need := func(o *query.Operand) {
		v.needsCells, v.labels = v.needsCells || o.NeedsCells(), v.labels || o.NeedsLabels()
	}
	v.needsCells = !v.match.search.Empty()
	v.match.where.Operands(need)
	for i := range v.levels {
		need(&v.levels[i].by.Operand)
	}
	for i := range facets {
		for j := range facets[i].By {
			need(&facets[i].By[j])
		}
		for j := range facets[i].Aggregates {
			need(&facets[i].Aggregates[j])
		}
	}
}

func (v *View) order(sort query.Sort) {
	v.levels, v.fixed = newLevels(v.arena, sort), true
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

// setKeys computes the sort keys of an object from one of its versions.
func (v *View) setKeys(id store.ID, ref store.Ref) {
	for i := range v.levels {
		v.keys[i] = atLeast(v.keys[i], int(id)+1)
		v.keys[i][id] = v.levels[i].key(ref)
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
	if v.build == nil {
		relisted := &build{relisted: true, total: v.rows.Len(), counts: v.resetFacets()}
		v.build = relisted
	}
	v.begin(nil)
	v.shown.renumber(v.cacher.State())
}

// Changed implements cacher.Observer. Most changes do not move a row and cost one
// comparison of sort keys.
func (v *View) Changed(id store.ID, e *history.Event) {
	if v.build != nil && !v.build.reads(v, id, e) {
		return
	}
	if v.ages.at != nil {
		defer v.trackAge(id, e.Current)
	}
	t := v.transition(id, e)
	v.setFailures(id, t.is)
	v.apply(id, &t, e)
}

// transition determines the effect of a change on the view.
func (v *View) transition(id store.ID, e *history.Event) transition {
	t := transition{previous: e.Previous, current: e.Current, was: v.failures(id), is: other}
	switch {
	case e.Current == 0:
		return t
	case e.Previous != 0:
		t.unchanged, t.sameLabels = e.Unchanged, v.arena.LabelSet(e.Current) == v.arena.LabelSet(e.Previous)
		if t.sameLabels && t.unchanged == api.AllCells {
			t.is = t.was
			return t
		}
	}
	// An object that matched the search still matches if its texts are unchanged.
	searched := t.was != other && t.sameLabels && v.set.texts != nil && v.set.texts.same(e)
	switch {
	case !v.match.selects(id, e.Current, searched, nil):
	case v.match.where.Empty():
		t.is = 0
	default:
		row := v.match.row(e.Current)
		t.is = v.match.failing(&row)
	}
	return t
}

// failures returns the recorded reasons why an object is not a row.
func (v *View) failures(id store.ID) failures {
	if int(id) < len(v.fails) {
		return v.fails[id]
	}
	return other
}

func (v *View) setFailures(id store.ID, failed failures) {
	for len(v.fails) <= int(id) {
		v.fails = append(v.fails, other)
	}
	v.fails[id] = failed
}

// apply updates rows and facets for a change. The event is nil if the object has not
// changed, but time has passed or the owners of the view have changed.
func (v *View) apply(id store.ID, t *transition, e *history.Event) {
	for i := range v.facets {
		if v.facets[i].change(id, t) {
			v.changed = true
		}
	}
	switch was, is := t.was == 0, t.is == 0; {
	case v.build != nil:
		if was || is {
			v.build.move(id)
		}
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
	p := v.position(id, ref)
	v.rows.Insert(id, p.follows)
}

func (v *View) remove(id store.ID, ref store.Ref) {
	p := v.position(id, ref)
	v.rows.Remove(id, p.follows)
}

// rowPosition is a position in the order of the rows. It is a value rather than a closure, so that
// it does not allocate.
type rowPosition struct {
	v    *View
	id   store.ID
	ref  store.Ref
	keys []sortKey // of the first level
	key  sortKey   // of the first level
	// undecided is the first level to compare if the keys of the first level are equal.
	undecided int
}

// position returns the position of the object id. The sort keys of this object belong to the
// version ref. When a row is removed, the state already has another version of the object,
// or none. For noID, the object key of ref decides between equal sort keys.
func (v *View) position(id store.ID, ref store.Ref) rowPosition {
	p := rowPosition{v: v, id: id, ref: ref}
	if len(v.levels) > 0 {
		p.keys, p.key = v.keys[0], v.keys[0][id]
		if v.levels[0].exact(p.key) {
			p.undecided = 1
		}
	}
	return p
}

// follows reports whether the row other precedes the position.
func (p *rowPosition) follows(other store.ID) bool {
	if p.keys != nil {
		if key := p.keys[other]; key != p.key {
			return key < p.key
		}
	}
	state := p.v.cacher.State()
	if p.undecided < len(p.v.levels) && other != p.id {
		if c := p.v.compare(p.undecided, other, state.Version(other), p.id, p.ref); c != 0 {
			return c < 0
		}
	}
	if p.id == noID {
		return p.v.arena.Key(state.Version(other)) < p.v.arena.Key(p.ref)
	}
	return state.Before(other, p.id)
}

// compare compares two rows by their values, starting at a sort level. Zero means that
// all values are equal, so the keys of the objects decide.
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

// Move moves the window. If the request names an anchor, the next patch chooses the
// version.
func (v *View) Move(f *wire.MoveView) *api.Status {
	if status := checkLimit(f.Limit); status != nil {
		return status
	}
	v.offset, v.limit, v.changed = f.Offset, f.Limit, true
	v.setAnchor(f.Anchor, f.Before)
	return nil
}

// Adopt takes over the rows that another view of the same collection last sent, so that the
// next patch edits them. If the arenas differ, the next patch resets the window instead. Adopt
// closes the other view.
func (v *View) Adopt(old *View) {
	if old.arena == v.arena {
		v.shown, old.shown = old.shown, window{arena: old.arena}
	}
	old.Close()
}

// Close detaches the view from its collection.
func (v *View) Close() {
	v.closed, v.build = true, nil
	v.cacher.Unobserve(v)
	v.set.remove(v)
	v.setAnchor("", 0)
	v.shown.clear()
}

// Patch sets f to the difference between the window last returned and the current one. It
// returns false if there is no difference, or if the view is not built. The frame aliases
// the arena and buffers of the view. It is valid until the collection or the view
// changes.
func (v *View) Patch(f *wire.ViewPatch) bool {
	if v.Building() || !v.changed && !v.touched {
		return false
	}
	if v.follow(); v.Building() {
		return false // the ranking has no room for the text of the anchor
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
	v.counts = v.counts[:0]
	for i := range v.facets {
		v.counts = append(v.counts, v.facets[i].report())
	}
	f.Facets = v.counts
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

// usedBytes returns the approximate memory of the view, without its window.
func (v *View) usedBytes() int {
	used := failuresSize*cap(v.fails) + idSize*v.rows.Len()
	for i := range v.keys {
		used += sortKeySize * cap(v.keys[i])
		if r := v.levels[i].ranking; r != nil {
			used += rankedTextSize * len(r.texts)
		}
	}
	for i := range v.facets {
		for j := range v.facets[i].aggregates {
			used += positionSize * cap(v.facets[i].aggregates[j].at)
		}
	}
	return used
}

const (
	failuresSize = 4
	idSize       = 4
	sortKeySize  = 8
	positionSize = 16
)
