package core

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/wire"
)

// bombs returns a message of blocks, each of which expands a thousandfold.
func bombs(subscription uint32, blocks int) (message []byte) {
	zeros := make([]byte, 1<<20-64)
	for i := range blocks {
		block := wire.Block{LabelSets: []api.Labels{nil}, Objects: []wire.Change{{
			Type: api.Added, ResourceVersion: 1,
			Envelope: wire.AppendEnvelope(nil, &api.Object{
				Key: api.Key(fmt.Sprintf("default/p%03d", i)), Body: api.Body{Codec: api.JSON, Data: zeros},
			}),
		}}}
		envelopes, bodies := block.AppendSections(nil, nil)
		data, _ := deflate.Sections(nil, envelopes, bodies)
		message = (&wire.SnapshotBlock{
			Subscription: subscription, Objects: 1, Envelopes: uint32(len(envelopes)), Bodies: uint32(len(bodies)), Data: data,
		}).Append(message)
	}
	return message
}

// A message of a megabyte can contain blocks of a gigabyte. The engine enforces
// its memory limit before the message ends (rule B7).
func TestMemoryLimitHoldsWithinAMessageOfBlocks(t *testing.T) {
	r := newRig(t)
	r.engine.cfg.MaxBytes = 10 << 20
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	const subscription = 1
	message := (&wire.SubscriptionStatus{Subscription: subscription, Status: api.Expired("list again")}).Append(nil)
	require.NoError(t, r.engine.Step((&wire.StreamData{Stream: r.stream, Data: message}).Append(nil)))
	blocks := bombs(subscription+1, 200)
	require.Less(t, len(blocks), 1<<20)
	message = append((&wire.SnapshotBegin{Subscription: subscription + 1, ResourceVersion: 200, Total: 200}).Append(nil), blocks...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, r.engine.Step((&wire.StreamData{Stream: r.stream, Data: message}).Append(nil)))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
	r.outputs()
	require.Equal(t, api.StateClosed, r.state().State)
	require.Equal(t, 413, r.state().Status.Code)
	require.EqualValues(t, 10, r.state().Objects, "the previous objects remain readable")
}
