package kubeapi

import "github.com/watchglass/watchglass/core/wire"

// InPages makes options into those of a first page of at most so many objects, for
// a backend that takes a list out of a cache page by page, and reports whether the
// pages that follow belong to the list, too: it was asked for whole.
//
// A limit above the size is cut down to it, which a client must expect (rule P16).
// Version zero has no pages (rule C40), and a version and a limit together would
// mean exactly that version; the newest state is as good for both (rule C39).
func (o *ListOptions) InPages(size uint32) (all bool) {
	if o.Limit > 0 && o.ResourceVersion != "0" {
		o.Limit = min(o.Limit, size)
		return false
	}
	o.Limit = size
	switch {
	case o.ResourceVersion == "0" && o.Match != wire.MatchExact:
		o.ResourceVersion, o.Match = "", wire.MatchUnset
	case o.ResourceVersion != "" && o.Match == wire.MatchUnset && o.Continue == "":
		o.Match = wire.MatchNotOlderThan
	}
	return true
}
