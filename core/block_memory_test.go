package core

import (
	"bytes"
	"compress/flate"
	"fmt"
	"math/rand"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// messageOf returns a message with the given number of blocks. Each block contains one
// object. The function body returns the body of the object in the block with the given
// index.
func messageOf(subscription uint32, blocks int, body func(int) []byte) (message []byte) {
	// Package deflate of coretest uses fixed codes, which cannot compress by a factor of
	// 1000.
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	must(err)
	for i := range blocks {
		block := wire.Block{LabelSets: []api.Labels{nil}, Objects: []wire.Change{{
			Type: api.Added, ResourceVersion: 1,
			Envelope: wire.AppendEnvelope(nil, &api.Object{
				Key: api.Key(fmt.Sprintf("default/p%03d", i)), Body: api.Body{Codec: api.JSON, Data: body(i)},
			}),
		}}}
		f := wire.SnapshotBlock{Subscription: subscription}
		envelopes, bodies := block.Encode(&f, nil, nil)
		var data bytes.Buffer
		w.Reset(&data)
		for _, section := range [][]byte{envelopes, bodies} {
			_, err := w.Write(section)
			must(err)
			must(w.Flush())
		}
		must(w.Close())
		f.Data = append(f.Data, data.Bytes()...)
		message = f.Append(message)
	}
	return message
}

// receiveBlocks sends a list of blocks to an engine with ten objects and a limit of 10
// MiB. It returns the rig of the engine, and the number of bytes that the whole process
// allocated.
func receiveBlocks(t *testing.T, blocks int, body func(int) []byte) (r *rig, allocated uint64) {
	r = newRig(t)
	r.engine.cfg.MaxBytes = 10 << 20
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	const subscription = 1
	message := (&wire.SubscriptionStatus{Subscription: subscription, Status: api.Expired("list again")}).Append(nil)
	require.NoError(t, r.engine.Step((&wire.StreamData{Stream: r.stream, Data: message}).Append(nil)))
	message = append((&wire.SnapshotBegin{Subscription: subscription + 1, ResourceVersion: 200, Total: uint64(blocks)}).Append(nil),
		messageOf(subscription+1, blocks, body)...)
	message = (&wire.SnapshotEnd{Subscription: subscription + 1, ResourceVersion: 200}).Append(message)
	frames := (&wire.StreamData{Stream: r.stream, Data: message}).Append(nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, r.engine.Step(frames))
	runtime.ReadMemStats(&after)
	r.outputs()
	return r, after.TotalAlloc - before.TotalAlloc
}

// The engine enforces its memory limit within a message, before it has applied all
// blocks (rule B7). Bodies that do not compress are stored individually.
func TestMemoryLimitHoldsWithinAMessageOfBlocks(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	r, allocated := receiveBlocks(t, 200, func(int) []byte {
		body := make([]byte, 256<<10)
		random.Read(body)
		return body
	})
	require.Less(t, allocated, uint64(100<<20))
	require.Equal(t, api.StateClosed, r.state().State)
	require.Equal(t, 413, r.state().Status.Code)
	require.EqualValues(t, 10, r.state().Objects, "the previous objects remain readable")
}

// A small message can contain blocks that decompress to a thousand times its size. Blocks
// are stored compressed, as received (rule B33).
func TestBlocksThatExpandAThousandfoldTakeLittleMemory(t *testing.T) {
	zeros := make([]byte, 1<<20-64)
	r, allocated := receiveBlocks(t, 200, func(int) []byte { return zeros })
	require.Less(t, allocated, uint64(100<<20))
	require.EqualValues(t, 200, r.state().Objects)
	require.Less(t, r.engine.usedBytes(), uint64(1<<20))
}

// must panics if err is not nil. Writes to a buffer never fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
