package sim

import "github.com/watchglass/watchglass/core/wire"

// resume is a watch of an engine that is gone, to be taken up in another.
type resume struct {
	watch      *watch
	collection *collection
}

// reload throws the engine away and opens another. With resume, the program has
// kept how far its watches were and goes on from there, as an informer does whose
// process is started anew.
func (r *reader) reload(resumed bool) {
	watches := r.watches
	r.reopen()
	r.resumes = nil
	if !resumed {
		return
	}
	opened := map[*collection]*collection{}
	for _, w := range watches {
		if !w.follow || w.complete == 0 || w.epoch == nil {
			continue
		}
		old := w.collection
		if opened[old] == nil {
			c := &collection{id: r.id32(), kind: old.kind, filter: old.filter, meta: old.meta, opened: r.world.now}
			opened[old] = c
			r.collections = append(r.collections, c)
			r.stepOpen(c, false)
		}
		r.resumes = append(r.resumes, resume{w, opened[old]})
	}
}

// resume opens the watches whose collections are there again: from the version
// they had seen if that is one of the same source, and otherwise from the state.
// Who has seen a part of a revision can do neither with that nor without: what is
// told from the version before need not take it back.
func (r *reader) resume() {
	var waiting []resume
	for _, p := range r.resumes {
		switch {
		case r.collection(p.collection.id) != p.collection:
		case !p.collection.ready():
			waiting = append(waiting, p)
		default:
			r.world.later(func() { r.takeUp(p) })
		}
	}
	r.resumes = waiting
}

func (r *reader) takeUp(p resume) {
	if r.collection(p.collection.id) != p.collection {
		return
	}
	old, f := p.watch, p.watch.open
	f.ResourceVersion, f.Match, f.SendInitialEvents = "", wire.MatchUnset, wire.Unset
	if p.collection.epoch.source == old.epoch.source && old.complete == old.last {
		f.ResourceVersion = old.complete.String()
		r.world.saw(ReaderResumed)
	}
	r.openWatch(p.collection, f, true, old)
}
