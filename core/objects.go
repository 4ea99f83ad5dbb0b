package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/wire"
)

// handle is a reference to an object that the program has acquired.
type handle struct {
	id       uint32
	object   objcache.ID
	owner    string
	onDemand bool

	state    *objectState // as last reported; nil before the first report
	reported bool         // the version, or the absence, of the object was reported
	version  api.ResourceVersion
	broken   *api.Status // why the body of version cannot be decoded; nil if it can
}

func (e *Engine) acquireObject(f *wire.AcquireObject) {
	if e.findHandle(f.Handle) != nil {
		e.reject(wire.ObjectHandle, f.Handle, api.BadRequest("a handle with this number is open"))
		return
	}
	h := &handle{id: f.Handle, owner: lite.Clone(f.Owner), onDemand: f.OnDemand, object: objcache.ID{
		Resource: lite.Clone(f.Resource), Key: api.Key(lite.Clone(string(f.Key))),
	}}
	if status := e.objects.Add(h.object, h.owner); status != nil {
		e.reject(wire.ObjectHandle, f.Handle, status)
		return
	}
	if !h.onDemand {
		e.objects.Follow(h.object)
	}
	e.handles = append(e.handles, h)
}

func (e *Engine) releaseObject(f *wire.ReleaseObject) {
	h := e.findHandle(f.Handle)
	if h == nil {
		return
	}
	if !h.onDemand {
		e.objects.Unfollow(h.object)
	}
	e.objects.Remove(h.object, h.owner)
	e.handles = lite.Remove(e.handles, h)
}

func (e *Engine) getObject(f *wire.GetObject) {
	request := f.Request
	id := objcache.ID{Resource: lite.Clone(f.Resource), Key: api.Key(lite.Clone(string(f.Key)))}
	e.objects.Get(id, func(o *objcache.Object, status *api.Status) {
		if status == nil {
			var item wire.Item
			if item, status = e.objectItem(o); status == nil {
				e.out = (&wire.ObjectReply{Request: request, Item: item}).Append(e.out)
				return
			}
		}
		e.replyError(request, status)
	})
}

// objectItem prepares an object for the program. The returned envelope aliases e.plain.
func (e *Engine) objectItem(o *objcache.Object) (wire.Item, *api.Status) {
	e.plain = e.plain[:0]
	it := wire.Item{ResourceVersion: o.ResourceVersion, Flags: o.Flags, Labels: o.Labels}
	var status *api.Status
	it.Envelope, status = e.present(o.Envelope, o.Envelope.Body(), o.Base, o.Dictionary, o.ResourceVersion)
	return it, status
}

func (e *Engine) findHandle(id uint32) *handle {
	for _, h := range e.handles {
		if h.id == id {
			return h
		}
	}
	return nil
}

// report appends the version and the state of a followed object, each only if it has
// changed since the last report.
func (h *handle) report(e *Engine, out []byte) []byte {
	look, ok := e.objects.Look(h.object)
	if !ok || h.onDemand {
		return out
	}
	if look.Known {
		out = h.reportChange(e, out, &look)
	}
	state := wire.ObjectState{Handle: h.id, State: look.State, Status: look.Status}
	if state.Status == nil {
		state.Status = h.broken
	}
	if h.state == nil || state.State != h.state.State || !sameStatus(state.Status, h.state.Status) {
		h.state = (*objectState)(&state)
		out = state.Append(out)
	}
	return out
}

func (h *handle) reportChange(e *Engine, out []byte, look *objcache.Look) []byte {
	var version api.ResourceVersion
	if look.Object != nil {
		version = look.Object.ResourceVersion
	}
	if h.reported && version == h.version {
		return out
	}
	h.reported, h.version, h.broken = true, version, nil
	f := wire.ObjectChanged{Handle: h.id, ResourceVersion: look.ResourceVersion}
	if look.Object != nil {
		var item wire.Item
		item, h.broken = e.objectItem(look.Object)
		f.Item = &item
	}
	return f.Append(out)
}

func sameStatus(a, b *api.Status) bool { return a == b || a != nil && b != nil && *a == *b }

// objectSources provides the engine's collections to objcache.
type objectSources struct{ engine *Engine }

// Covering implements objcache.Upstream. It returns an open collection whose scope
// includes the object and that has all bodies, or nil. It prefers current if current
// still meets these conditions.
func (s objectSources) Covering(id objcache.ID, current objcache.Source) objcache.Source {
	var found objcache.Source
	for _, b := range s.engine.complete {
		if !b.covers(id) {
			continue
		}
		if objcache.Source(b) == current {
			return current
		}
		if found == nil {
			found = b
		}
	}
	return found
}

// complete reports whether the collection has every object of its resource and
// namespace, with bodies.
func (b *sharedCollection) complete() bool {
	return b.scope.LabelSelector == "" && b.scope.FieldSelector == "" && !b.scope.MetadataOnly
}

func (b *sharedCollection) covers(id objcache.ID) bool {
	if b.scope.Resource != id.Resource || b.users == 0 || !id.Key.InNamespace(b.scope.Namespace) || !b.cacher.Ready() || !b.reflector.Bodies().Complete() {
		return false
	}
	state, _ := b.State()
	return state != api.StateClosed && state != api.StateForbidden
}

// Open implements objcache.Upstream.
func (s objectSources) Open(id objcache.ID, minimum objcache.Version) objcache.Source {
	e := s.engine
	b, fresh := e.acquire(reflector.Scope{
		Resource: id.Resource, Namespace: id.Key.Namespace(),
		FieldSelector: "metadata.name=" + selector.EscapeValue(id.Key.Name()),
	}, nil, minimum)
	if fresh {
		b.connect(e)
	}
	b.users++
	e.origin.need()
	return b
}

// Close implements objcache.Upstream.
func (s objectSources) Close(source objcache.Source) {
	if b, ok := source.(*sharedCollection); ok {
		b.unuse(s.engine)
	}
}

// State implements objcache.Source.
func (b *sharedCollection) State() (api.State, *api.Status) {
	state := b.reflector.State()
	return state.State, state.Status
}

// Version implements objcache.Source.
func (b *sharedCollection) Version() (objcache.Version, bool) {
	return objcache.Version{ClusterID: b.cacher.Upstream().ClusterID(), ResourceVersion: b.cacher.ResourceVersion()}, b.cacher.Ready()
}

// Find implements objcache.Source.
func (b *sharedCollection) Find(key api.Key) (objcache.Object, bool) {
	ref := b.cacher.State().Get(key)
	if ref == 0 {
		return objcache.Object{}, false
	}
	arena := b.cacher.Arena()
	arena.TakeOut(ref) // single objects are read repeatedly
	arena.TakeOut(arena.Base(ref))
	if b.cacher.Restored().Corrupt() != nil {
		return objcache.Object{}, false
	}
	return objcache.Object{
		ResourceVersion: arena.ResourceVersion(ref), Flags: arena.Flags(ref), Labels: arena.LabelsOf(ref),
		Envelope: arena.Envelope(ref), Base: arena.BaseBody(ref, nil), Dictionary: b.cacher.Bodies().Dictionary(ref),
	}, true
}

// Fault implements objcache.Source.
func (b *sharedCollection) Fault(key api.Key) *api.Status {
	if corruption := b.cacher.Restored().Corrupt(); corruption != nil {
		return corruption
	}
	faults, _ := b.cacher.Faults()
	for i := range faults {
		if faults[i].Key == key && !faults[i].Retracted() {
			return faults[i].Status
		}
	}
	return nil
}

// inspectObjects adds the counters of acquired objects, if the program has ever
// acquired one.
func (e *Engine) inspectObjects(add func(string, int)) {
	n := e.objects.Inspect()
	if n.Items == 0 && n.Ignored == 0 {
		return
	}
	add("objects", n.Items)
	add("objects.references", n.References)
	add("objects.watches", n.Watches)
	add("objects.covered", n.Covered)
	add("objects.waiting", n.Waiting)
	add("objects.ignoredReleases", n.Ignored)
	if objcache.Debug {
		for _, h := range e.objects.Holders() {
			add("object."+h.ID.Resource+"."+string(h.ID.Key)+"."+h.Owner, h.Count)
		}
	}
}

// objectState has no methods, for the same reason as reportedState.
type objectState wire.ObjectState
