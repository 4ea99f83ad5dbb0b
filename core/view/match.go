package view

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// matcher decides which versions are rows of a view.
type matcher struct {
	heap   *store.Heap
	filter *watcher.Filter
	all    bool // every object passes the filter
	search searcher
	where  query.Where
	labels bool // the condition reads labels
	// plain means that there is neither a search nor a condition.
	plain bool
	// now is the time that ages refer to.
	now int64
}

func newMatcher(c *cacher.Cacher, q *wire.OpenView, now int64) (matcher, *api.Status) {
	m := matcher{heap: c.Heap(), now: now}
	selection, status := selector.Limits{}.Parse(strings.Clone(q.LabelSelector), strings.Clone(q.FieldSelector))
	if status != nil {
		return m, status
	}
	if m.filter, status = c.NewFilter(strings.Clone(q.Namespace), selection); status != nil {
		return m, status
	}
	m.all = m.filter.Everything()
	if m.search.Search, status = query.ParseSearch(q.Search); status != nil {
		return m, status
	}
	if m.where, status = query.ParseWhere(c.Schema(), strings.Clone(q.Where)); status != nil {
		return m, status
	}
	m.search.heap, m.search.freed = m.heap, m.heap.Labels.Freed()
	m.where.Operands(func(o *query.Operand) { m.labels = m.labels || o.NeedsLabels() })
	m.plain = m.search.Empty() && m.where.Empty()
	return m, nil
}

// matches reports whether a version is a row. The zero Ref is none.
func (m *matcher) matches(ref store.Ref) bool {
	return m.filter.Matches(ref) && (m.plain || m.search.matches(ref) && m.where.Holds(m.row(ref)))
}

func (m *matcher) row(ref store.Ref) query.Row {
	row := rowOf(m.heap, ref, m.labels)
	row.Now = m.now
	return row
}

// convert returns what a change is to the rows. It returns false if it is nothing.
func (m *matcher) convert(e *history.Event) (kind api.EventType, ok bool) {
	if !m.plain {
		return changeOf(m.matches(e.Previous), m.matches(e.Current))
	}
	if m.all && e.Current != 0 && e.Previous != 0 {
		return api.Modified, true
	}
	kind, _, ok = m.filter.Convert(e)
	return kind, ok
}

// changeOf returns what happens to a row that was and is now in the view or not.
func changeOf(was, is bool) (kind api.EventType, ok bool) {
	switch {
	case was && is:
		return api.Modified, true
	case is:
		return api.Added, true
	case was:
		return api.Deleted, true
	}
	return 0, false
}

// searcher evaluates a search. It caches the words that each label set contains.
type searcher struct {
	query.Search
	heap  *store.Heap
	freed int // value of Heap.Labels.Freed when the cache was last purged
	// cached is by ID of the label set: the words that it contains, plus one.
	cached []query.Words
}

// maxCachedLabelSets limits the cache to 128 KiB.
const maxCachedLabelSets = 1 << 15

func (s *searcher) matches(ref store.Ref) bool {
	return s.Empty() || s.Matches(s.heap.Envelope(ref), s.inLabels(ref))
}

func (s *searcher) inLabels(ref store.Ref) query.Words {
	if freed := s.heap.Labels.Freed(); s.freed != freed {
		if !s.heap.Labels.EachFreed(s.freed, s.forget) {
			clear(s.cached)
		}
		s.freed = freed
	}
	id := int(s.heap.LabelSet(ref))
	if id >= maxCachedLabelSets {
		return s.InLabels(s.heap.LabelsOf(ref))
	}
	if missing := id + 1 - len(s.cached); missing > 0 {
		s.cached = append(s.cached, make([]query.Words, missing)...)
	}
	if s.cached[id] == 0 {
		s.cached[id] = s.InLabels(s.heap.LabelsOf(ref)) + 1
	}
	return s.cached[id] - 1
}

// forget drops the words of an ID that will be reused for another label set.
func (s *searcher) forget(id uint32) {
	if int(id) < len(s.cached) {
		s.cached[id] = 0
	}
}
