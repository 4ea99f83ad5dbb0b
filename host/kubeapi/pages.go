package kubeapi

import "github.com/watchglass/watchglass/core/api"

// InPages changes the options so that they request a page of at most size objects.
// Backends that read a list from a cache in pages call InPages. The result "all"
// reports whether the list must also contain the following pages, because the client
// requested no limit.
//
// A limit above size is reduced, which clients must expect (rule P16). Kubernetes ignores a
// limit with resourceVersion=0 (rule C40). With a limit, it treats any other version as
// exact, unless the request has a resourceVersionMatch. InPages therefore requests the
// latest state instead of version 0, and adds the match NotOlderThan to a version without a
// match. Both satisfy the original options (rule C39).
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
