package core

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// A view over many objects is built in steps. Each Ready does a bounded part of the work,
// and requests an immediate Tick for the next part, even if the clock stands still. The
// first patch is exact. A view that is closed before it is complete requests no further
// Tick.
func TestViewIsBuiltInStepsAtTheRequestedTicks(t *testing.T) {
	const pods = 500
	e, err := New((&wire.Config{}).Append(nil), nil)
	require.NoError(t, err)
	now, wake := int64(1000), int64(0)
	var patches []wire.ViewPatch
	drain := func() {
		for out := e.Ready(); out != nil; out = e.Ready() {
			require.NoError(t, wire.FromEngine.Each(out, func(_ wire.Type, f wire.Frame) error {
				switch f := f.(type) {
				case *wire.WakeAt:
					wake = f.Millis
				case *wire.ViewPatch:
					patches = append(patches, wire.ViewPatch{View: f.View, Total: f.Total})
				}
				return nil
			}))
			e.Advance()
		}
	}
	step := func(f interface{ Append([]byte) []byte }) {
		e.Tick(now)
		require.NoError(t, e.Step(f.Append(nil)))
		drain()
	}
	receive := func(f interface{ Append([]byte) []byte }) { step(&wire.StreamData{Stream: 1, Data: f.Append(nil)}) }
	pod := func(i, rv int) wire.Change {
		key := api.Key("default/p" + strconv.Itoa(1000+i))
		return wire.Change{Type: api.Added, ResourceVersion: api.ResourceVersion(rv), Key: key, Envelope: wire.AppendEnvelope(nil, &api.Object{
			Key: key, UID: key.Name(), Fields: []string{key.Name(), "default", "Running"},
			Columns: []api.Value{{Kind: api.String, Text: "Running"}, {Kind: api.Integer, Int: int64(i % 7)}},
		})}
	}
	step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", MetadataOnly: true})
	step(&wire.StreamOpened{Stream: 1})
	receive(&wire.Welcome{Version: wire.Version, ProgressMillis: 5000})
	receive(&wire.Schema{Subscription: 1, Schema: podSchema})
	receive(&wire.LabelSet{Subscription: 1})
	receive(&wire.SnapshotBegin{Subscription: 1, ResourceVersion: 1})
	part := wire.SnapshotPart{Subscription: 1}
	for i := range pods {
		part.Objects = append(part.Objects, pod(i, 1))
	}
	receive(&part)
	receive(&wire.SnapshotEnd{Subscription: 1, ResourceVersion: 1})

	e.LimitViewWork(1000)
	step(&wire.OpenView{View: 1, Collection: 1, Sort: "-restarts", Limit: 5})
	require.Empty(t, patches)
	require.Equal(t, now, wake, "the first step left work")
	receive(&wire.Events{Subscription: 1, ResourceVersion: 2, Changes: []wire.Change{pod(pods, 2)}})
	ticks := 0
	for ; len(patches) == 0; ticks++ {
		require.Less(t, ticks, 1000, "the view is never complete")
		require.Equal(t, now, wake, "a step left work and requested no Tick")
		wake = 0
		e.Tick(now)
		drain()
	}
	require.Greater(t, ticks, 10, "a step was too large")
	require.EqualValues(t, pods+1, patches[0].Total)
	require.NotEqual(t, now, wake, "all work is done")

	step(&wire.OpenView{View: 2, Collection: 1, Sort: "restarts", Limit: 5})
	require.Equal(t, now, wake)
	now++
	step(&wire.CloseView{View: 2})
	require.NotEqual(t, now, wake, "nothing is left to do")
	require.Len(t, patches, 1)
}
