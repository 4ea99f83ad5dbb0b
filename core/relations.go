package core

import (
	"slices"

	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
)

// followOwners keeps the owner graph up to date while a view needs it. The graph contains
// only objects of collections that the program has open.
func (e *Engine) followOwners() {
	if !slices.ContainsFunc(e.views, func(v *liveView) bool { return v.view != nil && v.query.Recursive }) {
		e.owners.Follow(nil)
		return
	}
	var open []*cacher.Cacher
	for _, c := range e.collections {
		if rows := c.shared.rows(); !slices.Contains(open, rows) {
			open = append(open, rows)
		}
	}
	e.owners.Follow(open)
}

// relate updates the owners of a recursive view if the owner graph has changed. The view
// shows the children of all owners below the one that the query names.
func (v *liveView) relate(e *Engine) {
	if !v.query.Recursive || v.related == e.owners.Changes() {
		return
	}
	v.related = e.owners.Changes()
	c := v.collection.shared.rows()
	v.view.SetOwners(e.owners.Below(v.query.OwnedBy), func(owner string) []store.ID { return e.owners.Children(c, owner) })
}
