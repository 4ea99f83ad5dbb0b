package core

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// folded is the state that results from watch events alone.
type folded map[api.Key]api.ResourceVersion

func (f folded) apply(t *testing.T, payloads [][]byte) {
	for _, b := range payloads {
		var frame wire.WatchEvents
		require.NoError(t, frame.Parse(b))
		for _, e := range frame.Events {
			key := api.Key(string(e.Item.Envelope.Key()))
			switch e.Type {
			case api.Added:
				require.NotContains(t, f, key, "ADDED for an object that is there")
				f[key] = e.Item.ResourceVersion
			case api.Modified:
				require.Less(t, f[key], e.Item.ResourceVersion, "MODIFIED does not increase the version")
				f[key] = e.Item.ResourceVersion
			case api.Deleted:
				require.Contains(t, f, key, "DELETED for an object that is not there")
				delete(f, key)
			}
		}
	}
}

func (r *rig) exact() folded {
	want := folded{}
	c := r.backend.pods
	c.State().Ascend("", func(ref store.Ref) bool {
		want[api.Key(string(c.Arena().Key(ref)))] = c.Arena().ResourceVersion(ref)
		return true
	})
	return want
}

// After any sequence of disconnects, broken messages, relists and slow connections, the
// events of a watch add up to exactly the connector's state. No event is repeated, and no
// version decreases (G2, G3, R11, H8, R7).
func TestEngine_converges_under_faults(t *testing.T) {
	for seed := range uint64(60) {
		r := newRig(t)
		rnd := rand.New(rand.NewPCG(seed, 7))
		r.load(50)
		r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
		r.step(&wire.OpenWatch{Watch: 1, Collection: 1, Policy: api.PolicyConflate})
		seen := folded{}
		rv := uint64(100)
		for range 300 {
			r.now += rnd.Int64N(300)
			switch n := rnd.IntN(100); {
			case n < 70:
				rv++
				key := "default/p" + strconv.Itoa(rnd.IntN(70))
				if rnd.IntN(3) == 0 {
					r.backend.pods.Delete(api.Key(key), api.ResourceVersion(rv), r.now)
				} else {
					r.backend.pods.Apply(pod(key, rv, "web", "Running"), r.now)
				}
			case n < 75:
				rv++
				r.relist(rnd, rv)
			case n < 80 && r.session != nil:
				r.breakMessage(rnd)
			case n < 85:
				r.session = nil
				r.step(&wire.StreamClosed{Stream: r.stream})
			default:
				r.engine.Tick(r.now)
				r.settle()
			}
		}
		for range 40 {
			r.now += 3_000
			r.backend.pods.Progress(api.ResourceVersion(rv), r.now)
			r.engine.Tick(r.now)
			r.settle()
		}
		require.Equal(t, api.StateLive, r.state().State, "seed %d", seed)
		seen.apply(t, r.seen[wire.TypeWatchEvents])
		require.Equal(t, r.exact(), seen, "seed %d", seed)
	}
}

// relist replaces the connector's state without events.
func (r *rig) relist(rnd *rand.Rand, rv uint64) {
	before := r.exact()
	r.backend.pods.Listing().Begin()
	for i := range 70 {
		key := api.Key("default/p" + strconv.Itoa(i))
		if was, ok := before[key]; ok && rnd.IntN(4) > 0 {
			r.backend.pods.Listing().Object(pod(string(key), uint64(was), "web", "Running"))
		} else if !ok && rnd.IntN(8) == 0 {
			r.backend.pods.Listing().Object(pod(string(key), rv, "web", "Running"))
		}
	}
	r.backend.pods.Listing().End(api.ResourceVersion(rv), r.now)
}

// breakMessage truncates the next message or appends garbage to it. The engine then
// closes the stream, which ends the session.
func (r *rig) breakMessage(rnd *rand.Rand) {
	message := r.session.Next(4096, r.now)
	if len(message) == 0 {
		return
	}
	if rnd.IntN(2) == 0 {
		message = message[:rnd.IntN(len(message)-1)+1]
	} else {
		message = append(message, 0x7f, 0x03, 'x', 'y', 'z')
	}
	r.session.Close()
	r.session = nil
	require.NoError(r.t, r.engine.Step((&wire.StreamData{Stream: r.stream, Data: message}).Append(nil)))
	require.NoError(r.t, r.engine.Step((&wire.StreamClosed{Stream: r.stream}).Append(nil)))
	r.settle()
}

// The engine does not panic for any data from a connector, and accepts later commands.
func FuzzEngine_upstream(f *testing.F) {
	sample := func(session *session.Session, in []byte) []byte {
		_ = session.Receive(in, 1)
		message := session.Next(1<<20, 1)
		return message[:len(message)-len((&wire.Checksum{Sum: 1 << 31}).Append(nil))] // without the checksum, because the engine would reject most mutations
	}
	r := newRig(&testing.T{})
	r.load(5)
	hello := (&wire.Hello{Version: wire.Version}).Append(nil)
	sub := (&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(hello)
	f.Add(sample(session.New(session.Config{}, r.backend), sub))
	f.Add((&wire.SubscriptionStatus{Status: api.Unavailable("bye")}).Append(nil))
	f.Fuzz(func(t *testing.T, message []byte) {
		e, err := New((&wire.Config{}).Append(nil), nil)
		require.NoError(t, err)
		e.Tick(1000)
		step := func(x interface{ Append([]byte) []byte }) {
			require.NoError(t, e.Step(x.Append(nil)))
			for e.Ready() != nil {
				e.Advance()
			}
		}
		step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
		step(&wire.StreamOpened{Stream: 1})
		step(&wire.OpenView{View: 1, Collection: 1, Limit: 3, Sort: "phase"})
		step(&wire.OpenWatch{Watch: 1, Collection: 1, LabelSelector: "app"})
		step(&wire.StreamData{Stream: 1, Data: message})
		step(&wire.StreamData{Stream: 1, Data: message})
		step(&wire.Inspect{Request: 1})
	})
}

// Step does not panic for any input.
func FuzzEngine_commands(f *testing.F) {
	f.Add((&wire.OpenCollection{Collection: 1, Resource: "v1/pods"}).Append((&wire.CloseCollection{Collection: 1}).Append(nil)))
	f.Add((&wire.List{Request: 1, Collection: 1, Limit: 1, Continue: "x"}).Append(nil))
	f.Fuzz(func(t *testing.T, frames []byte) {
		r := newRig(t)
		r.load(5)
		r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
		before := r.engine.Ready()
		if err := r.engine.Step(frames); err != nil {
			require.Equal(t, before, r.engine.Ready(), "a refused step changed the state")
		}
		for i := 0; i < 100 && r.engine.Ready() != nil; i++ {
			r.engine.Advance()
		}
		r.now += 10_000
		r.engine.Tick(r.now)
	})
}
