package core

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

// liveView is a view that the program has opened.
type liveView struct {
	id         uint32
	collection *collection
	query      wire.OpenView
	waiting    *wire.OpenView // the newest query, until the schema is known
	view       *view.View     // nil until the schema is known
	opened     bool           // a query was accepted
	sent       bool           // a patch was sent and the program has not granted the next
	related    uint64         // the value of owners.Graph.Changes that the view reflects; see relate
}

// openView opens a view or replaces the query of an open one. A rejected query
// leaves the previous one in effect.
func (e *Engine) openView(f *wire.OpenView) {
	c := e.findCollection(f.Collection)
	if c == nil {
		e.reject(wire.ObjectView, f.View, api.NotFound("the collection of this view is not open"))
		return
	}
	v := e.findView(f.View)
	if v == nil {
		v = &liveView{id: f.View, collection: c}
		e.views = append(e.views, v)
	}
	v.setQuery(e, c, cloneQuery(f))
}

// setQuery opens the view when the schema is known. Until then, the program can move
// the window of the query.
func (v *liveView) setQuery(e *Engine, c *collection, query wire.OpenView) {
	v.waiting = &query
	c.shared.whenDescribed(func(status *api.Status) { v.open(e, c, &query, status) })
}

func cloneQuery(f *wire.OpenView) wire.OpenView {
	q := *f
	for _, s := range []*string{&q.LabelSelector, &q.FieldSelector, &q.Search, &q.Where, &q.OwnedBy, &q.Sort, &q.Anchor} {
		*s = lite.Clone(*s)
	}
	q.Namespaces, q.Facets = slices.Clone(q.Namespaces), slices.Clone(q.Facets)
	for i := range q.Namespaces {
		q.Namespaces[i] = lite.Clone(q.Namespaces[i])
	}
	for i := range q.Facets {
		f := &q.Facets[i]
		f.By, f.Then, f.Aggregates = lite.Clone(f.By), lite.Clone(f.Then), slices.Clone(f.Aggregates)
		for j := range f.Aggregates {
			f.Aggregates[j] = lite.Clone(f.Aggregates[j])
		}
	}
	return q
}

func (v *liveView) open(e *Engine, c *collection, query *wire.OpenView, status *api.Status) {
	if !slices.Contains(e.views, v) {
		return
	}
	if v.waiting == query {
		v.waiting = nil
	}
	var opened *view.View
	if status == nil {
		c.shared.openJoin(e)
		opened, status = c.shared.views.Open(query, e.now)
	}
	if status != nil {
		e.reject(wire.ObjectView, v.id, status)
		if v.view == nil {
			e.removeView(v)
		}
		return
	}
	if v.view != nil {
		opened.Adopt(v.view)
	}
	v.view, v.query, v.collection, v.opened, v.related = opened, *query, c, true, 0
}

// reopen restarts the view on the collection's new cacher.
func (v *liveView) reopen(e *Engine) {
	if v.view != nil {
		v.view.Close()
		v.view = nil
	}
	if v.opened {
		v.setQuery(e, v.collection, v.query)
	}
}

func (e *Engine) grantView(f *wire.GrantView) {
	if v := e.findView(f.View); v != nil {
		v.sent = false
	}
}

func (e *Engine) moveView(f *wire.MoveView) {
	v := e.findView(f.View)
	if v == nil {
		return
	}
	for _, q := range []*wire.OpenView{&v.query, v.waiting} {
		if q != nil {
			q.Offset, q.Limit, q.Anchor, q.Before = f.Offset, f.Limit, lite.Clone(f.Anchor), f.Before
		}
	}
	if v.view != nil {
		if status := v.view.Move(f); status != nil {
			e.reject(wire.ObjectView, v.id, status)
		}
	}
}

func (e *Engine) closeView(f *wire.CloseView) {
	if v := e.findView(f.View); v != nil {
		e.dropView(v)
	}
}

func (e *Engine) dropView(v *liveView) {
	if v.view != nil {
		v.view.Close()
	}
	e.removeView(v)
}

func (e *Engine) removeView(v *liveView) {
	e.views = lite.Remove(e.views, v)
}

func (e *Engine) findView(id uint32) *liveView {
	for _, v := range e.views {
		if v.id == id {
			return v
		}
	}
	return nil
}

// viewWork is the default limit of the work between two calls of Tick for views that
// evaluate all objects, in the unit of view.View.Build. It corresponds to a few
// milliseconds.
const viewWork = 1 << 18

// LimitViewWork limits the work between two calls of Tick for views that evaluate all
// objects, in the unit of [view.View.Build]. The default takes a few milliseconds.
func (e *Engine) LimitViewWork(work int) { e.viewWork, e.viewWorkLeft = work, work }

// buildViews continues to evaluate objects for views, and reports whether work is left.
// The engine requests a Tick for the rest, so that the program can process other input
// first.
func (e *Engine) buildViews() (unfinished bool) {
	for _, v := range e.views {
		if v.view == nil || !v.view.Building() || !v.collection.shared.viewable() {
			continue
		}
		e.viewWorkLeft = v.view.Build(e.viewWorkLeft)
		unfinished = unfinished || v.view.Building()
	}
	return unfinished
}

// report appends the patch of a view if its collection has data and the program has
// granted a patch.
func (v *liveView) report(e *Engine, out []byte) []byte {
	if v.sent || v.view == nil || !v.collection.shared.viewable() {
		return out
	}
	if v.view.Building() {
		return out // relate is called once the view has its rows
	}
	v.relate(e)
	var patch wire.ViewPatch
	if !v.view.Patch(&patch) {
		return out
	}
	patch.View, v.sent = v.id, true
	v.query.Offset = patch.Offset // an anchor may have changed the offset
	return patch.Append(out)
}
