package sim

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// handle is a reference to one object.
type handle struct {
	id       uint32
	kind     int
	key      api.Key
	onDemand bool
	state    api.State
	known    bool
	exists   bool
	rv       api.ResourceVersion // of the object
	at       api.ResourceVersion // everything up to this version is included
	source   string
	// watched means that a Get has been answered, so the object is watched until
	// it is idle.
	watched bool
}

// request is a request without a response yet.
type request struct {
	id         uint32
	collection *collection
	list       wire.List
	get        api.Key
	object     *handle
	asked      int64 // when the object of get was requested
	ready      int64 // when the collection of get first had rows after that; zero if it has none
	// For a further page, skip is the number of preceding items, and at is their
	// version.
	skip int
	at   api.ResourceVersion
}

// take removes and returns the request with the ID of a response.
func (r *reader) take(id uint32) *request {
	for _, q := range r.requests {
		if q.id == id {
			r.requests = without(r.requests, q)
			return q
		}
	}
	r.world.fail(ErrProtocol, "reader %d: a reply to request %d, which is not pending", r.id, id)
	return nil
}

func (r *reader) objectChanged(f *wire.ObjectChanged) {
	for _, h := range r.handles {
		if h.id == f.Handle {
			r.changeHandle(h, f)
		}
	}
}

func (r *reader) changeHandle(h *handle, f *wire.ObjectChanged) {
	source := "" // not known if the object does not exist
	if f.Item != nil {
		source, _, _ = strings.Cut(f.Item.Envelope.UID(), "-")
		source = strings.Clone(source)
	}
	if len(r.world.sources) == 1 || f.Item != nil && source == h.source {
		if f.ResourceVersion < h.at || f.Item != nil && f.Item.ResourceVersion < h.rv {
			r.world.fail(ErrBack, "reader %d, object %s: from version %d as of %d to %v as of %d", r.id, h.key, h.rv, h.at, f.Item, f.ResourceVersion)
		}
	}
	h.known, h.exists, h.source, h.at = true, f.Item != nil, source, f.ResourceVersion
	if f.Item != nil {
		h.rv = f.Item.ResourceVersion
		r.checkBody(h.kind, f.Item, false, true)
	}
	if len(r.world.sources) > 1 {
		return
	}
	log := r.world.source.logs[h.kind]
	o := log.At(h.key, h.at)
	if !log.Tainted(h.key) && (h.exists != (o != nil) || o != nil && o.ResourceVersion != h.rv) {
		r.world.fail(ErrObject, "reader %d, object %s: as of %d it is reported at %d (exists: %v), expected %v", r.id, h.key, h.at, h.rv, h.exists, o)
	}
}

func (r *reader) objectReply(f *wire.ObjectReply) {
	q := r.take(f.Request)
	if q == nil {
		return
	}
	if q.object == nil {
		r.checkBody(q.collection.kind, &f.Item, false, !q.collection.meta)
		return
	}
	r.checkBody(q.object.kind, &f.Item, false, true)
	immutable := f.Item.Flags&api.Immutable != 0
	q.object.watched = !immutable
	before := r.inspected["objects.watches"] + r.inspected["objects.covered"]
	r.world.later(func() {
		r.inspect()
		if after := r.inspected["objects.watches"] + r.inspected["objects.covered"]; immutable && after < before {
			r.world.saw(ImmutableStop)
		}
	})
}

// refusedRequest handles the error response to a request. An object that does not exist
// is watched like any other.
func (r *reader) refusedRequest(f *wire.ErrorReply) {
	q := r.take(f.Request)
	if q != nil && q.object != nil && f.Status.Code == api.CodeNotFound {
		q.object.watched = true
	}
	if q != nil && q.get != "" {
		r.bodyMissing(q, f.Status)
	}
}

func (r *reader) listReply(f *wire.ListReply) {
	q := r.take(f.Request)
	if q == nil {
		return
	}
	c := q.collection
	for i := range f.Items {
		r.checkBody(c.kind, &f.Items[i], false, q.list.Bodies)
	}
	e := r.scope(c).epoch // the response may precede the state
	if e.source == nil || r.collection(c.id) != c {
		return
	}
	log := e.source.logs[c.kind]
	if r.world.undetermined(log) {
		return
	}
	want := []row{}
	filter := check.Filter{Namespace: q.list.Namespace, Labels: q.list.LabelSelector, Fields: q.list.FieldSelector}
	for _, item := range log.List(f.ResourceVersion, c.filter.Match) {
		if filter.Match(item.Key, item.Object) {
			want = append(want, row{item.Key, item.Object.ResourceVersion})
		}
	}
	if q.skip > 0 && f.ResourceVersion != q.at {
		r.world.fail(ErrList, "reader %d, list %+v: a page of version %d follows one of %d", r.id, q.list, f.ResourceVersion, q.at)
	}
	want = want[min(q.skip, len(want)):]
	more := q.list.Limit > 0 && q.list.ResourceVersion != "0" && len(want) > int(q.list.Limit)
	if more {
		want = want[:q.list.Limit]
	}
	ok := len(want) == len(f.Items) && (f.Continue != "" || !more)
	for i := range want {
		ok = ok && want[i] == row{f.Items[i].Envelope.Key(), f.Items[i].ResourceVersion}
	}
	if !ok {
		r.world.fail(ErrList, "reader %d, list %+v at version %d: %d items, expected %v", r.id, q.list, f.ResourceVersion, len(f.Items), want)
	}
	if f.Continue != "" {
		r.nextPage(q, f)
	}
}

// nextPage requests the rest of the list at a later time.
func (r *reader) nextPage(q *request, f *wire.ListReply) {
	next := &request{collection: q.collection, list: q.list, skip: q.skip + len(f.Items), at: f.ResourceVersion}
	next.list.ResourceVersion, next.list.Match, next.list.Continue = "", api.MatchUnset, strings.Clone(f.Continue)
	r.world.later(func() {
		if r.collection(q.collection.id) == q.collection {
			next.id = r.id32()
			next.list.Request = next.id
			r.requests = append(r.requests, next)
			r.step(&next.list)
			r.world.saw(ListContinued)
		}
	})
}

func (r *reader) rejected(f *wire.Rejected) {
	if f.Object == wire.ObjectRestore {
		r.refused, r.corrupted = r.refused+1, corruptBodies(f.Status)
		if c := r.collection(f.ID); c != nil && corruptBodies(f.Status) {
			r.scope(c).renew() // the list was persisted before any of its bodies was read
			r.world.saw(ListCorrupt)
		}
		return
	}
	if f.Status.Code != api.CodeTooLarge && f.Status.Code != api.CodeServiceUnavailable {
		r.world.fail(ErrProtocol, "reader %d: rejected %d %d: %v", r.id, f.Object, f.ID, f.Status)
	}
	switch f.Object {
	case wire.ObjectWatch:
		r.watches = without(r.watches, r.watch(f.ID))
	case wire.ObjectView:
		for _, v := range r.views {
			if v.id == f.ID {
				r.views = without(r.views, v)
			}
		}
	}
}
