package core

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// long applies a change of about 20 times size bytes to the connector's collection.
// It returns the fragments of the message that contains this change.
func (r *rig) long(size int) (fragments [][]byte) {
	r.backend.pods.Apply(pod("default/long", 101, "web", strings.Repeat("x", 20*size)), r.now)
	message := r.session.Next(1<<20, r.now)
	require.NoError(r.t, wire.Split(message, size, func(piece []byte) error {
		fragments = append(fragments, append([]byte(nil), piece...))
		return nil
	}))
	require.Greater(r.t, len(fragments), 15)
	return fragments
}

// receive passes a message to the engine, and then overwrites it, because the engine
// must not retain it.
func (r *rig) receive(message []byte) {
	r.engine.Tick(r.now)
	require.NoError(r.t, r.engine.Step((&wire.StreamData{Stream: r.stream, Data: message}).Append(nil)))
	for i := range message {
		message[i] = 0xee
	}
	for r.outputs() {
	}
}

func TestFragmentsCountAsActivity(t *testing.T) {
	r := newRig(t)
	r.load(3)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	stream := r.stream
	fragments := r.long(1000)
	for _, f := range fragments {
		r.now += 10_000
		r.receive(f)
		require.Equal(t, stream, r.stream, "the connection stays")
		require.Empty(t, r.seen[wire.TypeCloseStream])
		if f := r.state(); f.Objects == 3 && r.now > 1_020_000 {
			require.Equal(t, api.StateStale, f.State, "the rows are marked as stale")
		}
	}
	require.EqualValues(t, 4, r.state().Objects)
	r.now += 1000
	r.backend.pods.Progress(101, r.now)
	r.settle()
	require.Equal(t, api.StateLive, r.state().State)
	require.Equal(t, 1, r.subscriptions, "the subscription stays")
}

func TestFragmentsOfALostConnectionAreForgotten(t *testing.T) {
	r := newRig(t)
	r.load(3)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	for _, f := range r.long(1000)[:5] {
		r.receive(f)
	}
	r.session = nil
	r.step(&wire.StreamClosed{Stream: r.stream})
	r.now += 10_000
	r.engine.Tick(r.now)
	r.settle()
	require.Equal(t, api.StateLive, r.state().State)
	require.EqualValues(t, 4, r.state().Objects)
	require.EqualValues(t, 101, r.state().ResourceVersion)
}

func TestBrokenFragmentsEndTheConnection(t *testing.T) {
	progress := (&wire.Progress{Subscription: 1, ResourceVersion: 100}).Append(nil)
	for name, message := range map[string][]byte{
		"a frame between fragments":        progress,
		"a fragment of another message":    (&wire.Fragment{Rest: 7, Data: []byte("x")}).Append(nil),
		"a fragment and a frame":           append((&wire.Fragment{Data: progress}).Append(nil), progress...),
		"a fragment that does not parse":   {byte(wire.TypeFragment), 0},
		"fragments of something malformed": nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.load(3)
			r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
			stream := r.stream
			if message == nil {
				r.receive((&wire.Fragment{Rest: 1, Data: []byte{0x7f}}).Append(nil))
				message = (&wire.Fragment{Data: []byte{0}}).Append(nil)
			} else {
				r.receive(r.long(1000)[0])
			}
			require.Empty(t, r.seen[wire.TypeCloseStream])
			r.receive(message)
			require.Len(t, r.seen[wire.TypeCloseStream], 1)
			r.now += 10_000
			r.engine.Tick(r.now)
			r.settle()
			require.Equal(t, strconv.Itoa(int(stream)+1), strconv.Itoa(int(r.stream)))
			require.Equal(t, api.StateLive, r.state().State)
		})
	}
}
