package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// owned selects objects by the UID of their owner. The zero value selects all objects.
type owned struct {
	by   map[string]bool
	list []string // the keys of by
}

// matches reports whether a version has one of the selected owners.
func (o *owned) matches(arena *store.Arena, ref store.Ref) bool {
	return o.by == nil || o.by[arena.OwnerOf(ref)]
}

func (o *owned) set(owner string, selected bool) {
	if selected {
		o.by[owner] = true
	} else {
		delete(o.by, owner)
	}
}

// SetOwners replaces the owners of a view that selects by owner. It takes ownership of
// the list, which must not contain duplicates. The function children returns the current
// objects of an owner in the collection. SetOwners takes time proportional to the number
// of owners, and to the number of children of added and removed owners.
func (v *View) SetOwners(owners []string, children func(owner string) []store.ID) {
	if v.build != nil {
		v.match.owned.list, v.match.owned.by = owners, make(map[string]bool, len(owners))
		for _, owner := range owners {
			v.match.owned.set(owner, true)
		}
		v.begin(nil)
		return
	}
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

// setOwner adds or removes the rows of an owner. An object has one owner, so no other
// owner affects these rows.
func (v *View) setOwner(owner string, selected bool, children []store.ID) {
	v.match.owned.set(owner, true)
	for _, id := range children {
		failed := other
		if selected {
			failed = v.match.failures(id, v.cacher.State().Version(id))
		}
		v.reconsider(id, failed)
	}
	v.match.owned.set(owner, selected)
}

// reconsider replaces the failures of an object that did not change, and updates the view.
func (v *View) reconsider(id store.ID, failed failures) {
	ref := v.cacher.State().Version(id)
	t := transition{previous: ref, current: ref, was: v.failures(id), is: failed, unchanged: api.AllCells, sameLabels: true}
	v.setFailures(id, failed)
	v.apply(id, &t, nil)
}
