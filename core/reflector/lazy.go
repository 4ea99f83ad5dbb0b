package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// When an engine restores its state after a wake-up, most persisted objects are
// not needed: usually one event arrives for a few readers. Chunk bodies therefore
// stay in storage as runs of the store, together with the persisted changes of
// their objects, and are loaded on demand.

// lazy counts the stored bodies that are not loaded.
type lazy struct {
	waiting int // bodies
	bytes   int // memory that they and their changes need when loaded
	// all disables lazy loading, because a frame requires all objects. An example
	// is a fault.
	all bool
}

// Body contains the objects of a chunk.
type Body struct {
	Objects int
	Bytes   int     // length of Frames
	First   api.Key // key of the first object
	Frames  []byte  // nil if Load must be called
	// Load returns the frames, or an error if they differ from the stored ones.
	Load func() ([]byte, *api.Status)
}

// run is an unloaded body in the store.
type run struct {
	Body
	reflector    *Reflector
	dictionaries []wire.Dictionary // that its frames may refer to
	changes      []deferredChange
	bytes        int // memory that the body and its changes need when loaded
}

// deferredChange is a change of an object of an unloaded run.
type deferredChange struct {
	wire.Change
	set        *labelSet
	dictionary []byte
	position   int // in the history
}

// loadedObjectBytes estimates the fixed memory of a loaded object.
const loadedObjectBytes = 32

// deferredChangeBytes estimates its fixed memory.
const deferredChangeBytes = 320

// ReplayBody replays the body of a chunk or defers loading it.
func (r *Reflector) ReplayBody(b *Body) error {
	if r.phase != listing {
		return api.Protocol("the persisted state has objects outside of a snapshot")
	}
	if b.Frames != nil {
		return r.Replay(b.Frames, r.now)
	}
	waits := &run{Body: *b, reflector: r, dictionaries: r.replayed, bytes: b.Bytes + b.Objects*loadedObjectBytes}
	if !r.lazy.all && r.cacher.Listing().Wait(b.First, waits) {
		r.lazy.waiting++
		r.lazy.bytes += waits.bytes
		return nil
	}
	frames, status := b.Load()
	if status != nil {
		return status
	}
	return r.Replay(frames, r.now)
}

// loadAll loads all runs and disables lazy loading.
func (r *Reflector) loadAll() {
	r.lazy.all = true
	r.cacher.Restored().LoadAll()
}

// deferChanges attaches the changes of a frame to the unloaded runs of their
// objects, and applies all others.
func (r *Reflector) deferChanges(payload []byte) error {
	var f wire.Events
	if err := f.Parse(append([]byte(nil), payload...)); err != nil {
		return err
	}
	known := r.cacher.ResourceVersion()
	r.cacher.Waits().Hold()
	for i := range f.Changes {
		c := &f.Changes[i]
		if c.ResourceVersion <= known {
			continue
		}
		if err := r.deferChange(c); err != nil || r.phase == waiting {
			return err
		}
	}
	r.cacher.EndRevision(f.ResourceVersion, r.now)
	r.changed()
	return nil
}

func (r *Reflector) deferChange(c *wire.Change) error {
	waits, _ := r.cacher.State().Waiting(c.Key).(*run)
	switch {
	case waits != nil:
		if status := waits.addChange(c); status != nil {
			return status
		}
	case c.Type == api.Deleted:
		r.cacher.Delete(c.Key, c.ResourceVersion, r.now)
	default:
		return r.take(c, 0)
	}
	return nil
}

// addChange attaches a change of one of the run's objects.
func (w *run) addChange(c *wire.Change) *api.Status {
	r := w.reflector
	left := deferredChange{Change: *c}
	switch c.Type {
	case api.Deleted:
		w.Objects--
	case api.Added:
		w.Objects++
	}
	if c.Type != api.Deleted {
		if left.set = r.labels.find(c.LabelSet); left.set == nil {
			return undefinedLabelSet(c)
		}
	}
	_, left.dictionary = r.cacher.Bodies().Current()
	left.position = r.cacher.Restored().Reserve(c.ResourceVersion, r.now)
	w.changes = append(w.changes, left)
	bytes := deferredChangeBytes + len(c.Key) + len(c.Envelope) + len(c.Patch) + len(c.Base.Body.Data)
	w.bytes += bytes
	r.lazy.bytes += bytes
	return nil
}

// Len implements store.Run.
func (w *run) Len() int { return w.Objects }

// Load implements store.Run.
func (w *run) Load(state *store.Store) {
	c := w.reflector.cacher
	_, before := c.Bodies().Current()
	if status := w.load(state); status != nil {
		c.Restored().MarkCorrupt(status)
	}
	c.Bodies().SetDictionary(before)
	w.Drop()
}

// Drop implements store.Run.
func (w *run) Drop() {
	w.reflector.lazy.waiting--
	w.reflector.lazy.bytes -= w.bytes
}

func (w *run) load(state *store.Store) *api.Status {
	frames, status := w.Body.Load()
	if status != nil {
		return status
	}
	into := loading{run: w, state: state}
	if err := wire.FromConnector.Each(frames, into.frame); err != nil {
		return api.AsStatus(err)
	}
	for i := range w.changes {
		if status := into.change(&w.changes[i]); status != nil {
			return status
		}
	}
	return nil
}

// loading is a run that is being loaded into its store.
type loading struct {
	*run
	state  *store.Store
	labels labelSets // defined by the body
	head   []byte    // scratch
}

func (l *loading) frame(t wire.Type, f wire.Frame) error {
	switch f := f.(type) {
	case *wire.Schema:
		return l.describe(f)
	case *wire.LabelSet:
		l.labels.define(f)
		return nil
	case *wire.SnapshotPart:
		return l.part(f)
	}
	return wire.Unknown(t)
}

// describe sets the dictionary of the objects that follow. The frames before the
// body contain the layout.
func (l *loading) describe(f *wire.Schema) error {
	dictionary, err := dictionaryOf(f, l.dictionaries)
	if err == nil {
		l.reflector.cacher.Bodies().SetDictionary(dictionary)
	}
	return err
}

func (l *loading) part(f *wire.SnapshotPart) error {
	for i := range f.Objects {
		if status := l.object(&f.Objects[i]); status != nil {
			return status
		}
	}
	return nil
}

func (l *loading) object(c *wire.Change) *api.Status {
	set := l.labels.find(c.LabelSet)
	switch {
	case set == nil:
		return undefinedLabelSet(c)
	case c.Patch != nil:
		return missingVersion(c)
	}
	put := cacher.Put{
		ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base, Envelope: c.Envelope, LabelSet: l.reflector.number(set),
	}
	defer l.reflector.done(&put)
	return l.reflector.cacher.Restored().Object(l.state, &put)
}

func (l *loading) change(c *deferredChange) *api.Status {
	r := l.reflector
	if c.Type == api.Deleted {
		return r.cacher.Restored().Deletion(l.state, c.Key, c.ResourceVersion, c.position)
	}
	put := cacher.Put{ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base}
	if status := r.setEnvelope(&put, &c.Change, l.state, 0, &l.head); status != nil {
		return status
	}
	put.LabelSet = r.number(c.set)
	defer r.done(&put)
	r.cacher.Bodies().SetDictionary(c.dictionary)
	return r.cacher.Restored().Change(l.state, &put, c.position)
}
