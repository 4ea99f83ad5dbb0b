package sim

import "github.com/watchglass/watchglass/core/api"

// resume contains a watch whose engine was replaced, and the collection of the new engine
// in which the watch continues.
type resume struct {
	watch      *watch
	collection *collection
}

// reload replaces the engine. If resumed is set, the program has stored the versions of
// its watches and continues from them, like an informer after a restart.
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
			c := &collection{id: r.id32(), kind: old.kind, filter: old.filter, meta: old.meta, rows: old.rows, opened: r.world.now}
			opened[old] = c
			r.collections = append(r.collections, c)
			r.stepOpen(c, false)
		}
		r.resumes = append(r.resumes, resume{w, opened[old]})
	}
}

// resume reopens watches whose collections are open again. A watch resumes from its last
// version if the source is the same, and otherwise starts from the state. A program that
// has seen only part of a revision cannot resume, because a watch from the previous
// version need not revert that part.
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
	f.ResourceVersion, f.Match, f.SendInitialEvents = "", api.MatchUnset, api.Unset
	if p.collection.epoch.source == old.epoch.source && old.complete == old.last {
		f.ResourceVersion = old.complete.String()
		r.world.saw(ReaderResumed)
	}
	r.openWatch(p.collection, f, true, old)
}
