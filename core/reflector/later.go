package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// What was kept is mostly of no interest to an object at the edge that wakes up: there
// is an event, and a reader who is told of it. So the bodies of chunks can wait where
// they are, as runs of the store, and the changes that were kept of their objects with
// them.

// later is what waits.
type later struct {
	waiting int // bodies
	bytes   int // that their changes take in memory
	// all: there is something that can only be understood with all objects at hand,
	// such as one that could not be read. Nothing is left for later then.
	all bool
}

// Body is the objects of a chunk.
type Body struct {
	Objects int
	First   api.Key // of the first
	Frames  []byte  // nil where they are to be loaded
	// Load returns the frames, or why they are not what was kept.
	Load func() ([]byte, *api.Status)
}

// run is a body in the store.
type run struct {
	Body
	reflector    *Reflector
	dictionaries []wire.Dictionary // that its frames may name
	changes      []laterChange
	bytes        int // that they take in memory
}

// laterChange is a change of an object of a run.
type laterChange struct {
	wire.Change
	set        *labelSet
	dictionary []byte
	position   int // in the history
}

// laterChangeBytes is about what it takes besides its bytes.
const laterChangeBytes = 320

// ReplayBody replays the body of a chunk, or leaves it for later.
func (r *Reflector) ReplayBody(b *Body) error {
	if r.phase != listing {
		return api.Protocol("objects of a snapshot were kept outside of one")
	}
	if b.Frames != nil {
		return r.Replay(b.Frames, r.now)
	}
	waits := &run{Body: *b, reflector: r, dictionaries: r.replayed}
	if !r.later.all && r.cacher.WaitInList(b.First, waits) {
		r.later.waiting++
		return nil
	}
	frames, status := b.Load()
	if status != nil {
		return status
	}
	return r.Replay(frames, r.now)
}

// leaveNothing has everything put in that waits, and nothing wait from here on.
func (r *Reflector) leaveNothing() {
	r.later.all = true
	r.cacher.LoadAll()
}

// leaveChanges leaves the changes of a frame with the runs that wait for them, and
// makes the others.
func (r *Reflector) leaveChanges(payload []byte) error {
	var f wire.Events
	if err := f.Parse(append([]byte(nil), payload...)); err != nil {
		return err
	}
	known := r.cacher.ResourceVersion()
	r.cacher.Hold()
	for i := range f.Changes {
		c := &f.Changes[i]
		if c.ResourceVersion <= known {
			continue
		}
		if err := r.leaveChange(c); err != nil || r.phase == waiting {
			return err
		}
	}
	r.cacher.Release(f.ResourceVersion, r.now)
	r.changed()
	return nil
}

func (r *Reflector) leaveChange(c *wire.Change) error {
	waits, _ := r.cacher.State().Waiting(c.Key).(*run)
	switch {
	case waits != nil:
		if status := waits.leave(c); status != nil {
			return status
		}
	case c.Type == api.Deleted:
		r.cacher.Delete(c.Key, c.ResourceVersion, r.now)
	default:
		return r.take(c, 0)
	}
	return nil
}

// leave leaves a change of one of the run's objects for later.
func (w *run) leave(c *wire.Change) *api.Status {
	r := w.reflector
	left := laterChange{Change: *c}
	switch c.Type {
	case api.Deleted:
		w.Objects--
	case api.Added:
		w.Objects++
	}
	if c.Type != api.Deleted {
		if left.set = r.labels.find(c.LabelSet); left.set == nil {
			return notDefined(c)
		}
	}
	_, left.dictionary = r.cacher.CurrentDictionary()
	left.position = r.cacher.Announce(c.ResourceVersion, r.now)
	w.changes = append(w.changes, left)
	bytes := laterChangeBytes + len(c.Key) + len(c.Envelope) + len(c.Patch) + len(c.Base.Body.Data)
	w.bytes += bytes
	r.later.bytes += bytes
	return nil
}

// Len implements store.Run.
func (w *run) Len() int { return w.Objects }

// Load implements store.Run.
func (w *run) Load(state *store.Store) {
	c := w.reflector.cacher
	_, before := c.CurrentDictionary()
	if status := w.load(state); status != nil {
		c.Damage(status)
	}
	c.SetDictionary(before)
	w.Drop()
}

// Drop implements store.Run.
func (w *run) Drop() {
	w.reflector.later.waiting--
	w.reflector.later.bytes -= w.bytes
}

func (w *run) load(state *store.Store) *api.Status {
	frames, status := w.Body.Load()
	if status != nil {
		return status
	}
	into := loading{run: w, state: state}
	for len(frames) > 0 {
		t, payload, rest, err := wire.Next(frames)
		if err == nil {
			err = into.frame(t, payload)
		}
		if err != nil {
			return api.AsStatus(err)
		}
		frames = rest
	}
	for i := range w.changes {
		if status := into.change(&w.changes[i]); status != nil {
			return status
		}
	}
	return nil
}

// loading puts a run into the store that it waited in.
type loading struct {
	*run
	state  *store.Store
	labels labelSets // those that the body defines
	head   []byte    // scratch
}

func (l *loading) frame(t wire.Type, payload []byte) error {
	switch t {
	case wire.TypeSchema:
		return parsed(payload, &wire.Schema{}, l.describe)
	case wire.TypeLabelSet:
		return parsed(payload, &wire.LabelSet{}, func(f *wire.LabelSet) error { l.labels.define(f); return nil })
	case wire.TypeSnapshotPart:
		return parsed(payload, &wire.SnapshotPart{}, l.part)
	}
	return wire.Unknown(t)
}

// describe says what the objects that follow are compressed with. How they are laid
// out the frames before the body have said.
func (l *loading) describe(f *wire.Schema) error {
	dictionary, err := dictionaryOf(f, l.dictionaries)
	if err == nil {
		l.reflector.cacher.SetDictionary(dictionary)
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
		return notDefined(c)
	case c.Patch != nil:
		return notHere(c)
	}
	put := cacher.Put{
		ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base, Envelope: c.Envelope, LabelSet: l.reflector.number(set),
	}
	defer l.reflector.done(&put)
	return l.reflector.cacher.ObjectRestored(l.state, &put)
}

func (l *loading) change(c *laterChange) *api.Status {
	r := l.reflector
	if c.Type == api.Deleted {
		return r.cacher.DeletionRestored(l.state, c.Key, c.ResourceVersion, c.position)
	}
	put := cacher.Put{ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base}
	if status := r.envelop(&put, &c.Change, l.state, 0, &l.head); status != nil {
		return status
	}
	put.LabelSet = r.number(c.set)
	defer r.done(&put)
	r.cacher.SetDictionary(c.dictionary)
	return r.cacher.ChangeRestored(l.state, &put, c.position)
}
