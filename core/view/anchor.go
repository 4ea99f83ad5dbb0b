package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
)

// anchor fixes a window to a position in the order: that of one version of an object, even if
// that version is no longer a row. Insertions and removals above it change only the offset of
// the window.
type anchor struct {
	key    api.Key   // the object to find for the next patch, or ""
	ref    store.Ref // a reference to the version, or zero if the window stays at its offset
	before uint32    // rows of the window above the position
}

// setAnchor replaces the anchor. An empty key removes it.
func (v *View) setAnchor(key string, before uint32) {
	v.arena.Release(v.anchor.ref)
	v.anchor = anchor{key: api.Key(lite.Clone(key)), before: before}
}

// findAnchor retains a version of the anchor's object. It prefers the version in the
// window that was last sent, because the program chose the object in that window.
// Otherwise it retains the current version.
func (v *View) findAnchor() {
	ref := v.cacher.State().Get(v.anchor.key)
	for _, r := range v.shown.rows {
		if v.arena.Key(r.ref) == v.anchor.key {
			ref = r.ref
		}
	}
	v.anchor.key, v.anchor.ref = "", v.arena.Retain(ref)
}

// follow sets the offset so that the window stays at its anchor, if it has one.
func (v *View) follow() {
	if v.anchor.key != "" {
		v.findAnchor()
	}
	if v.anchor.ref == 0 {
		return
	}
	v.setKeys(noID, v.anchor.ref)
	p := v.position(noID, v.anchor.ref)
	position := v.rows.Count(p.follows)
	if offset := uint32(max(position-int(v.anchor.before), 0)); offset != v.offset {
		v.offset, v.changed = offset, true
	}
}

// noID is used as the ID of a version that may not be in the state, such as the version of
// an anchor.
const noID store.ID = 0
