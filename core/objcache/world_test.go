package objcache

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

const secrets = "v1/secrets"

func secret(name string) ID { return ID{secrets, api.NewKey("default", name)} }

// version is the state of one object.
type version struct {
	rv        api.ResourceVersion
	uid       string
	immutable bool
}

// state contains all objects at one time.
type state map[api.Key]version

// world contains the actual objects, and the sources that observe them.
type world struct {
	t       testing.TB
	cache   *Cache
	now     int64
	rv      api.ResourceVersion
	objects state
	own     []*source // open sources of one object
	covers  []*source // open collections
	slow    bool      // sources do not load
	lists   int       // number of requested single-object lists
	closed  int
}

// source is a model of a collection. The method see copies the state of the world.
type source struct {
	w       *world
	id      ID // ID of the object, if the source includes only one object
	objects state
	version Version
	loaded  bool
	gone    bool
	state   api.State
	why     *api.Status
	fault   *api.Status
}

func newWorld(t testing.TB, cfg Config) *world {
	w := &world{t: t, now: 1_000_000, objects: state{}}
	w.cache = New(cfg, w)
	w.cache.Tick(w.now)
	return w
}

func (w *world) Covering(id ID, current Source) Source {
	for _, s := range w.covers {
		if Source(s) == current && s.loaded {
			return s
		}
	}
	for _, s := range w.covers {
		if s.loaded {
			return s
		}
	}
	return nil
}

func (w *world) Open(id ID, minimum Version) Source {
	require.False(w.t, slices.ContainsFunc(w.own, func(s *source) bool { return s.id == id }), "K7: two watches of %v at once", id)
	s := &source{w: w, id: id, state: api.StateConnecting}
	w.own = append(w.own, s)
	w.lists++
	if !w.slow {
		s.see()
	}
	require.False(w.t, s.loaded && s.version.behind(minimum), "K7: an older version")
	return s
}

func (w *world) Close(s Source) {
	i := slices.Index(w.own, s.(*source))
	require.GreaterOrEqual(w.t, i, 0, "closed a watch that is not open")
	w.own[i].gone = true
	w.own = slices.Delete(w.own, i, i+1)
	w.closed++
}

func (s *source) State() (api.State, *api.Status) { return s.state, s.why }
func (s *source) Version() (Version, bool)        { return s.version, s.loaded }
func (s *source) Fault(api.Key) *api.Status       { return s.fault }

func (s *source) Find(key api.Key) (Object, bool) {
	require.False(s.w.t, s.gone, "requested from a closed source")
	v, ok := s.objects[key]
	if !ok {
		return Object{}, false
	}
	o := Object{ResourceVersion: v.rv, Envelope: wire.AppendEnvelope(nil, &api.Object{Key: key, UID: v.uid})}
	if v.immutable {
		o.Flags = api.Immutable
	}
	return o, true
}

// see updates a source to the state of the world.
func (s *source) see() {
	s.objects = state{}
	for key, v := range s.w.objects {
		if s.id.Key == "" || s.id.Key == key {
			s.objects[key] = v
		}
	}
	s.version, s.loaded, s.state, s.why = Version{ResourceVersion: s.w.rv}, true, api.StateLive, nil
}

// spread updates every source, and notifies the cache.
func (w *world) spread() {
	for _, s := range slices.Concat(w.own, w.covers) {
		s.see()
	}
	w.cache.Settle()
}

func (w *world) put(id ID, uid string, immutable bool) {
	w.rv++
	w.objects[id.Key] = version{w.rv, uid, immutable}
}

func (w *world) delete(id ID) {
	w.rv++
	delete(w.objects, id.Key)
}

func (w *world) cover() *source {
	s := &source{w: w}
	s.see()
	w.covers = append(w.covers, s)
	return s
}

func (w *world) uncover(s *source) {
	w.covers = slices.DeleteFunc(w.covers, func(x *source) bool { return x == s })
	w.cache.Settle()
	s.gone = true
}

func (w *world) tick(millis int64) {
	for end := w.now + millis; w.now < end; {
		w.now = end
		if next := w.cache.NextTick(); next != 0 {
			w.now = min(end, max(next, 1))
		}
		w.cache.Tick(w.now)
	}
}

// answer is the result of a Get.
type answer struct {
	came   bool
	object *Object
	status *api.Status
}

func (w *world) get(id ID) *answer {
	a := &answer{}
	w.cache.Get(id, func(o *Object, status *api.Status) {
		require.False(w.t, a.came, "two responses")
		require.True(w.t, (o == nil) != (status == nil), "a response has an object or a status")
		a.came, a.status = true, status
		if o != nil {
			a.object = o.clone()
		}
	})
	return a
}

func (w *world) add(id ID, owner string) { require.Nil(w.t, w.cache.Add(id, owner)) }

// finds requires that a Get immediately returns the object at the given version.
func (w *world) finds(id ID, rv api.ResourceVersion) {
	w.t.Helper()
	a := w.get(id)
	require.True(w.t, a.came, "no reply")
	require.Nil(w.t, a.status)
	require.Equal(w.t, rv, a.object.ResourceVersion)
}

// fails requires that a Get immediately returns an error that contains the text.
func (w *world) fails(id ID, text string) {
	w.t.Helper()
	a := w.get(id)
	require.True(w.t, a.came, "no reply")
	require.ErrorContains(w.t, a.status, text)
}
