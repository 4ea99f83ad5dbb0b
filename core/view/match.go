package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// matcher determines which versions are rows of a view.
type matcher struct {
	arena      *store.Arena
	filter     *watcher.Filter
	namespaces []string // sorted, at least two; or nil
	all        bool     // every object passes the filter
	owned      owned
	search     searcher
	where      query.Where
	rest       query.Where   // the conditions that apply to every facet
	own        []query.Where // by facet: the conditions that this facet ignores
	labels     bool          // the condition reads labels
	// plain means that the view has no namespaces, owners, search or condition.
	plain bool
	// now is the time to which ages are relative.
	now int64
}

// failures is the set of the parts of a query that exclude a version. Bit i is set if the
// conditions that facet i ignores exclude the version. If anything else excludes the
// version, only the bit other is set. The version is a row if the set is empty.
type failures uint32

const other failures = 1 << 31

// transition describes how a change to an object affects a view.
type transition struct {
	previous, current store.Ref
	was, is           failures
	unchanged         api.Cells
	sameLabels        bool
}

func newMatcher(c *cacher.Cacher, q *wire.OpenView, facets []query.Facet, now int64) (matcher, *api.Status) {
	m := matcher{arena: c.Arena(), now: now}
	selection, status := selector.Limits{}.Parse(lite.Clone(q.LabelSelector), lite.Clone(q.FieldSelector))
	if status != nil {
		return m, status
	}
	if len(q.Namespaces) > maxNamespaces {
		return m, api.LimitReached(api.CodeTooLarge, LimitNamespaces, "the view has more than 1000 namespaces")
	}
	if m.filter, status = watcher.NewFilter(c.Arena(), c.Schema(), m.scope(q.Namespaces, c.Schema()), selection); status != nil {
		return m, status
	}
	m.all = m.filter.Everything()
	if m.search.Search, status = query.ParseSearch(q.Search); status != nil {
		return m, status
	}
	if m.where, status = query.ParseWhere(c.Schema(), lite.Clone(q.Where)); status != nil {
		return m, status
	}
	m.search.arena, m.search.freed = m.arena, m.arena.Labels.Freed()
	m.rest, m.own = m.where.Split(facets)
	m.where.Operands(func(o *query.Operand) { m.labels = m.labels || o.NeedsLabels() })
	if q.OwnedBy != "" {
		root := lite.Clone(q.OwnedBy)
		m.owned = owned{by: map[string]bool{root: true}, list: []string{root}}
	} else if q.Recursive {
		return m, api.BadRequest("the view is recursive but has no owner; set the UID of an owner as well")
	}
	m.plain = m.namespaces == nil && q.OwnedBy == "" && m.search.Empty() && m.where.Empty()
	return m, nil
}

// LimitNamespaces is the Cause of the error for too many namespaces.
const LimitNamespaces = "max-view-namespaces"

const maxNamespaces = 1000

// scope returns the namespace for the filter, which rejects a namespace if the resource
// is not namespaced. If there are several namespaces, scope stores them in the matcher
// and returns "".
func (m *matcher) scope(namespaces []string, schema *api.Schema) string {
	switch {
	case len(namespaces) == 0:
		return ""
	case len(namespaces) == 1 || !schema.Namespaced:
		return lite.Clone(namespaces[0])
	}
	for _, name := range namespaces {
		m.namespaces = append(m.namespaces, lite.Clone(name))
	}
	lite.SortStrings(m.namespaces)
	return ""
}

// selects reports whether an object passes all parts of the query except the conditions.
// ref is the current version of the object. If searched is set, the object is known to
// match the search. cells is the cell index of the version, or nil.
func (m *matcher) selects(id store.ID, ref store.Ref, searched bool, cells *wire.CellIndex) bool {
	switch {
	case ref == 0 || !m.all && !m.filter.Matches(ref):
		return false
	case m.plain:
		return true
	}
	return (m.namespaces == nil || contains(m.namespaces, m.arena.Key(ref).Namespace())) && m.owned.matches(m.arena, ref) &&
		(searched || m.search.matches(id, ref, cells))
}

// failing returns the conditions that exclude a row. The result is empty if all
// conditions hold.
func (m *matcher) failing(row *query.Row) failures {
	if m.where.Empty() {
		return 0
	}
	if !m.rest.Holds(row) {
		return other
	}
	var failed failures
	for i := range m.own {
		if !m.own[i].Holds(row) {
			failed |= 1 << i
		}
	}
	return failed
}

// failures returns the parts of the query that exclude an object. ref is the current
// version of the object.
func (m *matcher) failures(id store.ID, ref store.Ref) failures {
	if !m.selects(id, ref, false, nil) {
		return other
	}
	row := m.row(ref)
	return m.failing(&row)
}

// contains reports whether a sorted list contains a text.
func contains(list []string, text string) bool {
	lo, hi := 0, len(list)
	for lo < hi {
		if mid := (lo + hi) / 2; list[mid] < text {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(list) && list[lo] == text
}

func (m *matcher) row(ref store.Ref) query.Row {
	row := rowOf(m.arena, ref, m.labels)
	row.Now = m.now
	return row
}

// searcher evaluates a search. For each label set, it caches which words of the search the
// set contains.
type searcher struct {
	query.Search
	arena *store.Arena
	freed int // value of Arena.Labels.Freed when the cache was last purged
	// cached contains, by the ID of a label set, the words that the set contains, plus
	// one. Zero means that the set is not cached.
	cached []query.Words
	texts  *texts // nil if the search cannot use texts
	index  wire.CellIndex
	// decided contains the words of the search that every row of the broader view is
	// known to match.
	decided query.Words
}

// maxCachedLabelSets limits the cache to 128 KiB. Label sets with greater IDs are not
// cached.
const maxCachedLabelSets = 1 << 15

// matches reports whether an object with this current version matches the search. It does
// not compute a search text, because it may stop reading the envelope at the first match.
func (s *searcher) matches(id store.ID, ref store.Ref, cells *wire.CellIndex) bool {
	switch {
	case s.Empty():
		return true
	case s.texts != nil:
		if text := s.texts.kept(id); text != nil {
			return s.MatchesText(text, s.inLabels(ref), 0)
		}
	}
	if cells == nil {
		s.index.Read(s.arena.Envelope(ref))
		cells = &s.index
	}
	return s.Matches(cells, s.inLabels(ref))
}

// narrows reports whether a row of the broader view matches the search.
func (s *searcher) narrows(id store.ID, ref store.Ref) bool {
	if s.texts == nil {
		return s.matches(id, ref, nil)
	}
	return s.MatchesText(s.texts.text(id, ref), s.inLabels(ref), s.decided)
}

func (s *searcher) inLabels(ref store.Ref) query.Words {
	if freed := s.arena.Labels.Freed(); s.freed != freed {
		if !s.arena.Labels.EachFreed(s.freed, s.forget) {
			clear(s.cached)
		}
		s.freed = freed
	}
	id := int(s.arena.LabelSet(ref))
	if id >= maxCachedLabelSets {
		return s.InLabels(s.arena.LabelsOf(ref))
	}
	if missing := id + 1 - len(s.cached); missing > 0 {
		s.cached = append(s.cached, make([]query.Words, missing)...)
	}
	if s.cached[id] == 0 {
		s.cached[id] = s.InLabels(s.arena.LabelsOf(ref)) + 1
	}
	return s.cached[id] - 1
}

// forget drops the cached words of a label set whose ID will be reused.
func (s *searcher) forget(id uint32) {
	if int(id) < len(s.cached) {
		s.cached[id] = 0
	}
}
