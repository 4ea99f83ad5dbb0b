package kubeapi

import "github.com/watchglass/watchglass/core/api"

// InPages changes options to request a first page of at most the given size. It is
// for backends that read a list from a cache in pages. It reports whether the
// following pages belong to the list too, because the client did not set a limit.
//
// A limit above the size is reduced, which clients must expect (rule P16). Version
// zero does not support pages (rule C40), and a version together with a limit would
// mean exactly that version. The latest state satisfies both (rule C39).
func (o *ListOptions) InPages(size uint32) (all bool) {
	if o.Limit > 0 && o.ResourceVersion != "0" {
		o.Limit = min(o.Limit, size)
		return false
	}
	o.Limit = size
	switch {
	case o.ResourceVersion == "0" && o.Match != api.MatchExact:
		o.ResourceVersion, o.Match = "", api.MatchUnset
	case o.ResourceVersion != "" && o.Match == api.MatchUnset && o.Continue == "":
		o.Match = api.MatchNotOlderThan
	}
	return true
}
