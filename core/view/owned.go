package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// owned selects objects by the UID of their owner. The zero value selects all.
type owned struct {
	by   map[string]bool
	list []string // the keys of by
}

// matches reports whether a version has one of the owners.
func (o *owned) matches(heap *store.Heap, ref store.Ref) bool {
	return o.by == nil || o.by[heap.OwnerOf(ref)]
}

func (o *owned) set(owner string, selected bool) {
	if selected {
		o.by[owner] = true
	} else {
		delete(o.by, owner)
	}
}

// SetOwners replaces the owners of a view that selects by owner. It takes the list,
// which has no duplicates. children returns the objects of the collection that an owner
// has now. SetOwners takes time proportional to the number of owners, and of children
// of those that are new or gone.
func (v *View) SetOwners(owners []string, children func(owner string) []store.ID) {
	now := make(map[string]bool, len(owners))
	for _, owner := range owners {
		now[owner] = true
	}
	for _, owner := range v.match.owned.list {
		if !now[owner] {
			v.setOwner(owner, false, children(owner))
		}
	}
	for _, owner := range owners {
		if !v.match.owned.by[owner] {
			v.setOwner(owner, true, children(owner))
		}
	}
	v.match.owned.list = owners
}

// setOwner adds or removes the rows of an owner. No other owner decides about them.
func (v *View) setOwner(owner string, selected bool, children []store.ID) {
	v.match.owned.set(owner, true)
	state := v.cacher.State()
	for _, id := range children {
		ref := state.Version(id)
		t := transition{previous: ref, current: ref, was: other, is: other, unchanged: api.AllCells, sameLabels: true}
		if selected {
			t.is = v.match.failures(ref)
		} else {
			t.was = v.match.failures(ref)
		}
		v.apply(id, &t, nil)
	}
	v.match.owned.set(owner, selected)
}
