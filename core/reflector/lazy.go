package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// When an engine restores its state after a wake-up, most persisted objects are not
// needed: usually one event arrives for a few readers. Chunk bodies therefore stay in
// storage as unloaded segments of the store, and are loaded on demand. If the stored
// state contains a later change to an object, the restore loads the segment of that
// object.

// Body is the part of a chunk that contains the objects.
type Body struct {
	Objects int
	Memory  int     // estimated memory of the objects
	First   api.Key // key of the first object
	Frames  []byte  // nil if Load must be called
	// Load returns the frames, or an error if they are missing or corrupt.
	Load func() ([]byte, *api.Status)
}

// segment is a chunk body that has not been loaded into the store.
type segment struct {
	Body
	reflector    *Reflector
	dictionaries []wire.Dictionary // dictionaries that its frames may refer to
	bytes        int               // memory that the body needs when loaded
}

// loadedObjectBytes estimates the fixed memory of a loaded object.
const loadedObjectBytes = 32

// ReplayBody replays the body of a chunk, or adds it as a segment that is loaded on
// demand.
func (s *Restored) ReplayBody(b *Body) error {
	r := s.reflector
	if r.phase != listing {
		return api.Protocol("the persisted state has objects outside of a snapshot")
	}
	if b.Frames != nil {
		return s.Replay(b.Frames, r.now)
	}
	waits := &segment{Body: *b, reflector: r, dictionaries: s.dictionaries, bytes: b.Memory + b.Objects*loadedObjectBytes}
	if r.cacher.Listing().AddSegment(b.First, waits) {
		s.unloaded += waits.bytes
		return nil
	}
	frames, status := b.Load()
	if status != nil {
		return status
	}
	return s.Replay(frames, r.now)
}

// Len implements store.Segment.
func (w *segment) Len() int { return w.Objects }

// Load implements store.Segment.
func (w *segment) Load(state *store.Store) {
	c := w.reflector.cacher
	_, before := c.Bodies().Current()
	if status := w.load(state); status != nil {
		c.Restored().MarkCorrupt(status)
	}
	c.Bodies().SetDictionary(before)
	w.reflector.restored.block = nil
	w.Drop()
}

// Drop implements store.Segment.
func (w *segment) Drop() { w.reflector.restored.unloaded -= w.bytes }

func (w *segment) load(state *store.Store) *api.Status {
	frames, status := w.Body.Load()
	if status != nil {
		return status
	}
	into := loading{segment: w, state: state}
	if err := wire.Persisted.Each(frames, into.frame); err != nil {
		return api.AsStatus(err)
	}
	return nil
}

// loading is a segment that is being loaded into its store.
type loading struct {
	*segment
	state  *store.Store
	labels labelSets // label sets that the body defines
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
	case *wire.StoredBlock:
		if status := l.reflector.storedBlock(f, l.add); status != nil {
			return status
		}
		return nil
	}
	return wire.Unknown(t)
}

// describe sets the dictionary of the objects that follow. It ignores the rest of the
// schema, which was replayed before the body.
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
	put := cacher.Update{
		ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base, Envelope: c.Envelope, LabelSet: l.reflector.number(set),
	}
	defer l.reflector.done(&put)
	return l.add(&put)
}

func (l *loading) add(p *cacher.Update) *api.Status {
	return l.reflector.cacher.Restored().Object(l.state, p)
}
