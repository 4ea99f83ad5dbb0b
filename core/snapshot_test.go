package core

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
)

// Repeated snapshots allocate almost no garbage. Otherwise the module's memory would
// grow and never shrink.
func TestPersistingAStateReusesItsBuffers(t *testing.T) {
	r := newRig(t)
	r.load(10_000)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	take := func() (stateBytes int) {
		const chunkBytes = 16 << 10
		command := (&wire.TakeSnapshot{Request: 1, Collection: 1, ChunkBytes: chunkBytes}).Append(nil)
		next := (&wire.NextChunk{Request: 1}).Append(nil)
		for last := false; !last; command = next {
			require.NoError(t, r.engine.Step(command))
			for out := r.engine.Ready(); len(out) > 0; {
				typ, payload, rest, err := wire.Next(out)
				require.NoError(t, err)
				if typ == wire.TypeSnapshotChunk {
					var f wire.SnapshotChunk
					require.NoError(t, f.Parse(payload))
					stateBytes, last = stateBytes+len(f.Data), f.Last
				}
				out = rest
			}
			r.engine.Advance()
		}
		return stateBytes
	}
	take() // the engine's own buffers grow once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stateBytes := take()
	runtime.ReadMemStats(&after)
	require.Greater(t, stateBytes, 500_000)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(stateBytes/2))
}
