package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Set contains the open views of one collection. The views share search texts. A view whose
// query narrows the query of another view starts from the rows of that view.
type Set struct {
	cacher *cacher.Cacher
	views  []*View
	texts  *texts // nil until a search needs them, and after the last view is closed
}

// NewSet returns a set without views.
func NewSet(c *cacher.Cacher) *Set { return &Set{cacher: c} }

// Open opens a view on a collection with a known schema, or returns a status if the query
// is invalid. The view has no rows before [View.Build] has evaluated all objects. Open
// copies the strings that it retains. Ages are relative to now, in milliseconds since the
// epoch.
func (s *Set) Open(q *wire.OpenView, now int64) (*View, *api.Status) {
	v, status := newView(s, q, now)
	if status != nil {
		return nil, status
	}
	if len(s.views) == 0 {
		s.cacher.Observe(s) // before the views, so that they do not read outdated texts
	}
	if v.match.search.HasText() && !v.match.search.Empty() {
		if s.texts == nil {
			s.texts = newTexts(s.cacher.Arena(), s.cacher.Schema(), s.cacher.State().Len())
		}
		v.match.search.texts = s.texts
	}
	v.begin(s.broader(v))
	s.views = append(s.views, v)
	s.cacher.Observe(v)
	return v, nil
}

// broader returns a view that has all rows of a new view, in the same order, or nil.
func (s *Set) broader(v *View) *View {
	for _, other := range s.views {
		if !other.Building() && v.scope != "" && other.scope == v.scope {
			if decided, narrows := v.match.search.Narrows(&other.match.search.Search); narrows {
				v.match.search.decided = decided
				return other
			}
		}
	}
	return nil
}

func (s *Set) remove(v *View) {
	if s.views = lite.Remove(s.views, v); len(s.views) == 0 {
		s.cacher.Unobserve(s)
		s.texts = nil
	}
}

// Changed implements cacher.Observer.
func (s *Set) Changed(id store.ID, e *history.Event) {
	if s.texts != nil && !s.texts.same(e) {
		s.texts.forget(id)
	}
}

// Replaced implements cacher.Observer.
func (s *Set) Replaced() {
	if s.texts != nil {
		s.texts.clear()
	}
}

// Empty reports whether no view is open.
func (s *Set) Empty() bool { return len(s.views) == 0 }

// UsedBytes returns the approximate memory of the views, without their windows.
func (s *Set) UsedBytes() (used int) {
	if s.texts != nil {
		used = s.texts.usedBytes()
	}
	for _, v := range s.views {
		used += v.usedBytes()
	}
	return used
}
