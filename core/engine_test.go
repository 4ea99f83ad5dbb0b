package core

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

var podSchema = api.Schema{
	Resource: api.Resource{Version: "v1", Name: "pods"}, Kind: "Pod", Namespaced: true,
	Fields:  []string{"metadata.name", "metadata.namespace", "status.phase"},
	Columns: []api.Column{{Name: "Phase", Kind: api.String, Path: ".status.phase"}, {Name: "Restarts", Kind: api.Integer}},
}

type backend struct {
	pods    *cacher.Cacher
	served  *session.Collection // of pods
	refused *api.Status         // why all subscriptions are refused; nil if they are accepted
}

// serve replaces the collection that sessions receive.
func (b *backend) serve(pods *cacher.Cacher) {
	b.pods, b.served = pods, session.NewCollection(pods)
}

func (b backend) Collection(r *session.Request) (*session.Collection, *api.Status) {
	if r.Resource != podSchema.Resource {
		return nil, api.NotFound("no such resource " + r.Resource.String() + "; there is v1/pods")
	}
	return b.served, b.refused
}
func (backend) Release(api.Resource) {}

func (backend) Wake() {}

func pod(key string, rv uint64, app, phase string) *cacher.Update {
	k := api.Key(key)
	return &cacher.Update{
		ResourceVersion: api.ResourceVersion(rv), Labels: api.Labels{{Key: "app", Value: app}},
		Envelope: wire.AppendEnvelope(nil, &api.Object{
			Key: k, UID: "u-" + key, Fields: []string{k.Name(), k.Namespace(), phase},
			Columns: []api.Value{{Kind: api.String, Text: phase}, {Kind: api.Integer, Int: int64(rv % 7)}},
			Body:    api.Body{Codec: api.JSON, Data: []byte(`{"kind":"Pod","metadata":{"name":"` + k.Name() + `"}}`)},
		}),
	}
}

// rig is an engine and a connector's session in one goroutine.
type rig struct {
	t             *testing.T
	engine        *Engine
	backend       backend
	session       *session.Session
	config        session.Config
	now           int64
	stream        uint32
	seen          map[wire.Type][][]byte
	listed        api.ResourceVersion // version of the last requested list
	subscriptions int                 // number of opened subscriptions
}

func newRig(t *testing.T) *rig {
	e, err := New((&wire.Config{Seed: 1}).Append(nil), func(dst []byte, b api.Body, _, _ []byte) ([]byte, error) {
		return append(dst, b.Data...), nil
	})
	require.NoError(t, err)
	r := &rig{t: t, engine: e, now: 1_000_000, seen: map[wire.Type][][]byte{}}
	r.backend.serve(cacher.New(cacher.Config{Schema: podSchema}))
	e.Tick(r.now)
	return r
}

func (r *rig) step(f interface{ Append([]byte) []byte }) {
	r.engine.Tick(r.now)
	require.NoError(r.t, r.engine.Step(f.Append(nil)))
	r.settle()
}

func (r *rig) settle() {
	for {
		moved := r.outputs()
		if r.session != nil {
			for m := r.session.Next(4096, r.now); m != nil; m = r.session.Next(4096, r.now) {
				require.NoError(r.t, r.engine.Step((&wire.StreamData{Stream: r.stream, Data: m}).Append(nil)))
				for i := range m {
					m[i] = 0xee // the caller may reuse the input
				}
				moved = true
			}
		}
		if !moved {
			return
		}
	}
}

// outputs processes the engine's pending output, and reports whether there was any.
func (r *rig) outputs() (any bool) {
	out := append([]byte(nil), r.engine.Ready()...)
	r.engine.Advance()
	any = len(out) > 0
	for len(out) > 0 {
		t, payload, rest, err := wire.Next(out)
		require.NoError(r.t, err)
		out = rest
		r.handle(t, payload)
	}
	return any
}

func (r *rig) handle(t wire.Type, payload []byte) {
	switch t {
	case wire.TypeOpenStream:
		var f wire.OpenStream
		require.NoError(r.t, f.Parse(payload))
		r.stream = f.Stream
		r.session = session.New(r.config, &r.backend)
		require.NoError(r.t, r.engine.Step((&wire.StreamOpened{Stream: f.Stream}).Append(nil)))
	case wire.TypeSendStream:
		var f wire.SendStream
		require.NoError(r.t, f.Parse(payload))
		for rest := f.Data; len(rest) > 0; {
			t, _, next, err := wire.Next(rest)
			require.NoError(r.t, err)
			if rest = next; t == wire.TypeSubscribe {
				r.subscriptions++
			}
		}
		require.NoError(r.t, r.session.Receive(f.Data, r.now))
	default:
		r.seen[t] = append(r.seen[t], append([]byte(nil), payload...))
	}
}

func (r *rig) state() wire.CollectionState {
	var f wire.CollectionState
	all := r.seen[wire.TypeCollectionState]
	require.NotEmpty(r.t, all)
	require.NoError(r.t, f.Parse(all[len(all)-1]))
	return f
}

func (r *rig) load(n int) {
	r.backend.pods.Listing().Begin()
	for i := range n {
		app := []string{"web", "api"}[i%2]
		r.backend.pods.Listing().Object(pod("default/p"+strconv.Itoa(i), uint64(i%100+1), app, "Running"))
	}
	r.backend.pods.Listing().End(100, r.now)
}

func TestEngine_follows_a_connector(t *testing.T) {
	r := newRig(t)
	r.load(1000)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.Equal(t, api.StateLive, r.state().State)
	require.EqualValues(t, 1000, r.state().Objects)
	r.step(&wire.OpenView{View: 1, Collection: 1, LabelSelector: "app=web", Sort: "-restarts", Limit: 10, Facets: []wire.Facet{{By: "status.phase"}}})
	var p wire.ViewPatch
	require.NoError(t, p.Parse(r.seen[wire.TypeViewPatch][0]))
	require.EqualValues(t, 500, p.Total)
	require.Len(t, p.Edits, 1)
	require.Len(t, p.Edits[0].Insert, 10)
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1, LabelSelector: "app=api", Bookmarks: true, Bodies: true})
	n := 0
	for _, b := range r.seen[wire.TypeWatchEvents] {
		var f wire.WatchEvents
		require.NoError(t, f.Parse(b))
		n += len(f.Events)
	}
	require.Equal(t, 501, n)

	r.seen[wire.TypeWatchEvents] = nil
	r.backend.pods.Apply(pod("default/p0", 101, "api", "Failed"), r.now)
	r.settle()
	var f wire.WatchEvents
	require.NoError(t, f.Parse(r.seen[wire.TypeWatchEvents][0]))
	require.Equal(t, api.Added, f.Events[0].Type)
	require.JSONEq(t, `{"kind":"Pod","metadata":{"resourceVersion":"101","name":"p0"}}`, string(f.Events[0].Item.Envelope.Body().Data))
	r.step(&wire.GrantView{View: 1})
	all := r.seen[wire.TypeViewPatch]
	require.NoError(t, p.Parse(all[len(all)-1]))
	require.EqualValues(t, 499, p.Total)

	// The connection is lost. On a new connection, the reader resumes from its
	// version.
	r.session = nil
	r.step(&wire.StreamClosed{Stream: r.stream})
	require.Equal(t, api.StateReconnecting, r.state().State)
	r.backend.pods.Delete("default/p2", 102, r.now)
	r.now += 10_000
	r.engine.Tick(r.now)
	r.settle()
	require.Equal(t, api.StateLive, r.state().State)
	require.EqualValues(t, 102, r.state().ResourceVersion)
	require.EqualValues(t, 999, r.state().Objects)
	r.step(&wire.Inspect{Request: 1})
	var in wire.InspectReply
	require.NoError(t, in.Parse(r.seen[wire.TypeInspectReply][0]))
	t.Log(in)
}

// If the connector's source was replaced, the versions of the new source belong to
// another history. The reader starts over instead of resuming, and its watches end.
func TestEngine_starts_over_on_another_source(t *testing.T) {
	for name, to := range map[string]uint64{"lower versions": 5, "overlapping versions": 150} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.backend.pods.Upstream().SetClusterID("etcd-a")
			r.load(3)
			r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
			r.step(&wire.OpenView{View: 1, Collection: 1, Limit: 10})
			r.step(&wire.OpenWatch{Watch: 1, Collection: 1})

			r.session = nil
			r.step(&wire.StreamClosed{Stream: r.stream})
			other := cacher.New(cacher.Config{Schema: podSchema})
			other.Listing().Begin()
			other.Listing().Object(pod("default/other", 4, "web", "Running"))
			other.Upstream().SetClusterID("etcd-b")
			other.Listing().End(api.ResourceVersion(to), r.now)
			r.backend.serve(other)
			r.now += 10_000
			r.engine.Tick(r.now)
			r.settle()
			r.step(&wire.GrantView{View: 1})

			require.Equal(t, api.StateLive, r.state().State)
			require.EqualValues(t, to, r.state().ResourceVersion)
			var p wire.ViewPatch
			patches := r.seen[wire.TypeViewPatch]
			require.NoError(t, p.Parse(patches[len(patches)-1]))
			require.EqualValues(t, 1, p.Total)
			require.True(t, p.Reset)
			require.Equal(t, api.Key("default/other"), p.Edits[0].Insert[0].Envelope.Key())
			require.Len(t, r.seen[wire.TypeWatchClosed], 1)
			var last wire.WatchClosed
			require.NoError(t, last.Parse(r.seen[wire.TypeWatchClosed][0]))
			require.Equal(t, api.WatchEndHistoryLost, last.End)
			require.ErrorIs(t, last.Status, api.Expired(""))
		})
	}
}

// If the connector relists from another source on the same connection, the engine
// starts over.
func TestEngine_starts_over_when_the_source_changes_live(t *testing.T) {
	r := newRig(t)
	r.backend.pods.Upstream().SetClusterID("etcd-a")
	r.load(3)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	c := r.backend.pods
	c.Listing().Begin()
	c.Listing().Object(pod("default/p1", 7, "web", "Running"))
	c.Upstream().SetClusterID("etcd-b")
	c.Listing().End(7, r.now)
	r.settle()
	require.Equal(t, api.StateLive, r.state().State)
	require.EqualValues(t, 7, r.state().ResourceVersion)
	require.EqualValues(t, 1, r.state().Objects)
}

// A relist delivers all differences in one step. A watch whose consumer reads a few
// events at a time still receives all differences.
func TestEngine_a_large_relist_does_not_end_a_watch(t *testing.T) {
	r := newRig(t)
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1, Credit: 20})
	c := r.backend.pods
	c.Listing().Begin()
	for i := range 1000 {
		c.Listing().Object(pod("default/p"+strconv.Itoa(i), uint64(101+i%400), "web", "Running"))
	}
	c.Listing().End(500, r.now)
	r.settle()
	for range 110 {
		r.step(&wire.GrantWatch{Watch: 1, Events: 10})
	}
	require.Empty(t, r.seen[wire.TypeWatchClosed])
	seen := folded{}
	seen.apply(t, r.seen[wire.TypeWatchEvents])
	require.Equal(t, r.exact(), seen)
}

// The engine responds to a ping after it has processed all earlier frames. A session
// ignores the response.
func TestEngine_answers_a_ping(t *testing.T) {
	r := newRig(t)
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	message := (&wire.Progress{Subscription: 1, ResourceVersion: 150}).Append(nil)
	message = (&wire.Ping{Mark: 1 << 60}).Append(message)
	require.NoError(t, r.engine.Step((&wire.StreamData{Stream: r.stream, Data: message}).Append(nil)))
	out := append([]byte(nil), r.engine.Ready()...)
	r.engine.Advance()
	var output []byte
	require.NoError(t, each(out, func(typ wire.Type, payload []byte) error {
		if typ != wire.TypeSendStream {
			return nil
		}
		var f wire.SendStream
		require.NoError(t, f.Parse(payload))
		output = f.Data
		return nil
	}))
	require.Equal(t, (&wire.Pong{Mark: 1 << 60}).Append(nil), output)
	require.NoError(t, r.session.Receive(output, r.now))
	require.EqualValues(t, 150, r.engine.sharedCollections[0].cacher.ResourceVersion())
}

// The state of a collection contains the time of the next connection attempt.
// Reconnect makes that attempt immediately, even after a refusal.
func TestEngine_reports_the_next_attempt(t *testing.T) {
	r := newRig(t)
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.Zero(t, r.state().NextAttemptMillis)
	r.session = nil
	r.step(&wire.StreamClosed{Stream: r.stream})
	at := r.state().NextAttemptMillis
	require.Equal(t, api.StateReconnecting, r.state().State)
	require.Greater(t, at, r.now)
	require.LessOrEqual(t, at, r.now+1600, "the first request is early (R10)")

	r.step(&wire.Reconnect{})
	require.Equal(t, api.StateLive, r.state().State)
	require.Zero(t, r.state().NextAttemptMillis)

	refusal := wire.SubscriptionStatus{Subscription: 1, Status: api.Forbidden("not yours")}
	r.step(&wire.StreamData{Stream: r.stream, Data: refusal.Append(nil)})
	require.Equal(t, api.StateForbidden, r.state().State)
	require.Equal(t, r.now+30_000, r.state().NextAttemptMillis)
	r.session.End(api.Forbidden("not yours"), func(uint32, *cacher.Cacher) bool { return true })
	r.step(&wire.Reconnect{})
	require.NotEqual(t, api.StateForbidden, r.state().State)
}

// each passes the type and payload of each frame to f.
func each(frames []byte, f func(wire.Type, []byte) error) error {
	for len(frames) > 0 {
		t, payload, rest, err := wire.Next(frames)
		if err == nil {
			err = f(t, payload)
		}
		if err != nil {
			return err
		}
		frames = rest
	}
	return nil
}
