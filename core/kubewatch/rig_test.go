package kubewatch_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// rig is an engine that reads a server, in one goroutine with a virtual clock.
type rig struct {
	t      testing.TB
	server *server
	engine *core.Engine
	now    int64
	wake   int64
	state  wire.CollectionState
	states []api.State
	schema *wire.CollectionSchema
	seen   map[wire.Type][][]byte
	events []string
	// piece returns the size of the next piece of a body that has n bytes left.
	piece func(n int) int
	// lateCodes delivers the status code of a response with the first piece of its body,
	// or at the end of an empty body, as Firefox does.
	lateCodes bool
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, server: newServer(), now: 1_000_000, seen: map[wire.Type][][]byte{}, piece: func(n int) int { return n }}
	r.open()
	return r
}

func (r *rig) open() {
	engine, err := core.New((&wire.Config{Seed: 1, Kubernetes: "http://127.0.0.1:8001"}).Append(nil),
		func(dst []byte, b api.Body, _, _ []byte) ([]byte, error) { return append(dst, b.Data...), nil })
	require.NoError(r.t, err)
	r.engine = engine
	engine.Tick(r.now)
	r.server.tick(r.now)
}

func (r *rig) step(f interface{ Append([]byte) []byte }) {
	r.t.Helper()
	r.engine.Tick(r.now)
	frames := f.Append(nil)
	require.NoError(r.t, r.engine.Step(frames))
	for i := range frames {
		frames[i] = 0xee // the caller may reuse the input
	}
	r.drain()
}

// drain processes the output of the engine: it executes intents and records deliveries.
func (r *rig) drain() {
	r.t.Helper()
	for out := r.engine.Ready(); out != nil; out = r.engine.Ready() {
		out = slices.Clone(out)
		r.engine.Advance()
		for len(out) > 0 {
			t, payload, rest, err := wire.Next(out)
			require.NoError(r.t, err)
			r.output(t, payload)
			out = rest
		}
	}
}

func (r *rig) output(t wire.Type, payload []byte) {
	switch t {
	case wire.TypeFetch:
		var f wire.Fetch
		require.NoError(r.t, f.Parse(payload))
		r.server.fetch(f.Stream, strings.Clone(f.Path))
	case wire.TypeCloseStream:
		var f wire.CloseStream
		require.NoError(r.t, f.Parse(payload))
		delete(r.server.open, f.Stream)
	case wire.TypeWakeAt:
		var f wire.WakeAt
		require.NoError(r.t, f.Parse(payload))
		r.wake = f.Millis
	case wire.TypeCollectionState:
		require.NoError(r.t, r.state.Parse(payload))
		if len(r.states) == 0 || r.states[len(r.states)-1] != r.state.State {
			r.states = append(r.states, r.state.State)
		}
	case wire.TypeCollectionSchema:
		r.schema = &wire.CollectionSchema{}
		require.NoError(r.t, r.schema.Parse(payload))
	case wire.TypeWatchEvents:
		var f wire.WatchEvents
		require.NoError(r.t, f.Parse(payload))
		for i := range f.Events {
			e := &f.Events[i]
			r.events = append(r.events, e.Type.String()+" "+string(e.Item.Envelope.Key()))
		}
	case wire.TypeWatchClosed:
		var f wire.WatchClosed
		require.NoError(r.t, f.Parse(payload))
		r.events = append(r.events, "closed "+f.End.String())
	default:
		r.seen[t] = append(r.seen[t], payload)
	}
}

// settle delivers pending data of the server to the engine until none remains.
func (r *rig) settle() {
	r.t.Helper()
	for moved := true; moved; {
		moved = false
		r.server.tick(r.now)
		for _, stream := range slices.Sorted(maps.Keys(r.server.open)) {
			if a := r.server.open[stream]; a != nil && r.deliver(stream, a) {
				moved = true
			}
		}
	}
}

func (r *rig) deliver(stream uint32, a *answer) (moved bool) {
	if a.code > 0 && !a.begun && (len(a.data) > 0 || a.end || !r.lateCodes) {
		a.begun, moved = true, true
		r.step(&wire.Fetched{Stream: stream, Code: a.code, RetryAfterSeconds: a.retry})
	}
	for len(a.data) > 0 && r.server.open[stream] == a {
		n := min(max(r.piece(len(a.data)), 1), len(a.data))
		piece := slices.Clone(a.data[:n])
		a.data, moved = a.data[n:], true
		r.step(&wire.StreamData{Stream: stream, Data: piece})
	}
	if a.end && r.server.open[stream] == a {
		delete(r.server.open, stream)
		r.step(&wire.StreamClosed{Stream: stream, Message: a.message})
		return true
	}
	return moved
}

// watching returns the stream of the open watch.
func (r *rig) watching() uint32 {
	r.t.Helper()
	for stream, a := range r.server.open {
		if a.watch != nil {
			return stream
		}
	}
	require.Fail(r.t, "no watch is open")
	return 0
}

// cut calls the given function, and then reports to the engine that all open streams have
// failed.
func (r *rig) cut(meanwhile func()) {
	r.t.Helper()
	open := slices.Sorted(maps.Keys(r.server.open))
	clear(r.server.open)
	meanwhile()
	for _, stream := range open {
		r.step(&wire.StreamClosed{Stream: stream, Message: "connection reset"})
	}
}

// backedOff advances the clock until the next request.
func (r *rig) backedOff() {
	r.t.Helper()
	for len(r.server.open) == 0 {
		r.pass(250)
	}
}

// pass advances the clock by the given time, in steps of a quarter of a second.
func (r *rig) pass(millis int64) {
	r.t.Helper()
	for end := r.now + millis; r.now < end; {
		r.now += min(250, end-r.now)
		r.engine.Tick(r.now)
		r.drain()
		r.settle()
	}
}

func (r *rig) collection(change ...func(*wire.OpenCollection)) {
	r.t.Helper()
	f := &wire.OpenCollection{Collection: 1, Resource: "v1/pods"}
	for _, c := range change {
		c(f)
	}
	r.step(f)
	r.settle()
}

// list returns the versions in the collection, by key. It also checks each body.
func (r *rig) list() map[api.Key]api.ResourceVersion {
	r.t.Helper()
	r.seen[wire.TypeListReply] = nil
	r.step(&wire.List{Request: 9, Collection: 1, Bodies: true})
	require.NotEmpty(r.t, r.seen[wire.TypeListReply], "no response to a list")
	var reply wire.ListReply
	require.NoError(r.t, reply.Parse(r.seen[wire.TypeListReply][0]))
	all := map[api.Key]api.ResourceVersion{}
	for i := range reply.Items {
		it := &reply.Items[i]
		var o struct {
			Kind, APIVersion string
			Metadata         struct {
				Name, Namespace, ResourceVersion string
				ManagedFields                    []any
			}
		}
		require.NoError(r.t, json.Unmarshal(it.Envelope.Body().Data, &o))
		require.Equal(r.t, "v1 Pod", o.APIVersion+" "+o.Kind)
		require.Equal(r.t, string(it.Envelope.Key()), o.Metadata.Namespace+"/"+o.Metadata.Name)
		require.Equal(r.t, it.ResourceVersion.String(), o.Metadata.ResourceVersion)
		require.Empty(r.t, o.Metadata.ManagedFields)
		all[it.Envelope.Key()] = it.ResourceVersion
	}
	return all
}

// converged checks that the collection is live and equals the server's state.
func (r *rig) converged() {
	r.t.Helper()
	require.Equal(r.t, api.StateLive, r.state.State, "status %v, requests %q", r.state.Status, r.server.paths)
	require.Equal(r.t, r.server.versions(), r.list())
}
