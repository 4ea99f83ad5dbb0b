package sim

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// anchor identifies the version of an object whose position in the sort order determines
// the window of a view.
type anchor struct {
	found   bool // a patch has determined the version, which may be nil
	version *check.Item
	unknown bool // the simulator cannot determine the version
}

// chooseAnchor chooses an anchor for the window of a view, or none.
func (v *view) chooseAnchor(r *lite.Rand) {
	v.open.Anchor, v.open.Before, v.anchor = "", 0, anchor{}
	if r.Int63n(2) == 0 {
		v.open.Anchor, v.open.Before = string(keyOf(v.collection.kind, int(r.Int63n(24)))), uint32(r.Int63n(6))
	}
}

// findAnchor determines which version of the anchor object the engine has used: the
// version in the window before the patch, or else the current version.
func (r *reader) findAnchor(v *view, f *wire.ViewPatch) {
	if f.Reset && v.anchor.found {
		v.open.Offset, v.anchor = v.offset, anchor{}
	}
	before := v.log
	v.log = nil
	c := v.collection
	if c.ready() && f.ResourceVersion <= c.reported.ResourceVersion {
		v.log = c.epoch.source.logs[c.kind]
	}
	if v.anchor.found || v.open.Anchor == "" {
		return
	}
	key, log, rv := api.Key(v.open.Anchor), v.log, f.ResourceVersion
	if i := slices.IndexFunc(v.rows, func(row row) bool { return row.key == key }); i >= 0 && !f.Reset {
		log, rv = before, v.rows[i].rv
	} else if log != nil && (!log.Exact(rv) || r.world.undetermined(log)) {
		log = nil
	}
	if log == nil {
		v.anchor.unknown = true
		return
	}
	if o := log.At(key, rv); c.filter.Match(key, o) {
		v.anchor.version = &check.Item{Key: key, Object: o}
	}
}
