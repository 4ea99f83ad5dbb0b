package sim_test

import (
	"flag"
	"io"
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/sim"
	"github.com/watchglass/watchglass/core/sim/check"
)

var (
	seeds     = flag.Int("seeds", 300, "number of seeds to run")
	firstSeed = flag.Uint64("seed", 1, "first seed")
)

// TestMain raises the garbage collection percentage. A simulation creates much
// garbage and retains little, so at the default of 100 a quarter of its time would be
// garbage collection.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

func TestCampaign(t *testing.T) {
	report := sim.Campaign(*firstSeed, *seeds, 1, io.Discard)
	for _, r := range report.Failures[:min(len(report.Failures), sim.MaxFailures)] {
		t.Error(sim.Explain(r))
	}
	t.Logf("%d operations\n%s", report.Operations, report.Seen.String())
	if *seeds >= 300 {
		require.Empty(t, report.Seen.Missing(), "these situations never occurred")
	}
}

// In every shape, two runs of a seed have the same output of all engines and servers, and
// the same final state of readers.
func TestRun_is_repeatable(t *testing.T) {
	shapes := map[sim.Shape]int{}
	for seed := range uint64(20) {
		shapes[sim.ShapeOf(seed)]++
		a := sim.Run(seed, sim.Program(seed), sim.Setup{})
		b := sim.Run(seed, sim.Program(seed), sim.Setup{})
		require.Equal(t, a, b)
		require.NotEmpty(t, a.Final)
		other := sim.Run(seed+1, sim.Program(seed), sim.Setup{})
		require.NotEqual(t, a.Trace, other.Trace)
	}
	require.Len(t, shapes, 3)
}

// Sizes of messages, histories and credits, and the use of deltas, do not affect the
// final state of readers.
func TestMetamorphic(t *testing.T) {
	variants := []sim.Setup{
		{Message: 200}, {Message: 1 << 16}, {History: 4}, {History: 1000}, {Window: 4}, {Window: 1024},
		{Credit: 300}, {Credit: 1 << 22}, {Batched: true}, {Whole: true},
	}
	for seed := uint64(1); seed <= 12; seed++ {
		base := sim.Setup{Budget: 1}
		ops := sim.WithoutTiming(sim.Program(seed))
		want := sim.Run(seed, ops, base)
		require.NoError(t, want.Err)
		for _, v := range variants {
			v.Budget = 1
			got := sim.Run(seed, ops, v)
			require.NoError(t, got.Err, "seed %d, %+v", seed, v)
			require.Equal(t, want.Final, got.Final, "seed %d, %+v", seed, v)
		}
	}
}

// The final state does not depend on the layers between readers and the source:
// connectors, objects at the edge, or Kubernetes itself.
func TestMetamorphic_Shapes(t *testing.T) {
	for seed := uint64(1); seed <= 30; seed++ {
		ops := sim.WithoutTiming(sim.Program(seed))
		var want string
		for _, shape := range []sim.Shape{sim.Connectors, sim.Edge, sim.Direct} {
			r := sim.Run(seed, ops, sim.Setup{Shape: shape, Single: true, Budget: 1})
			require.NoError(t, r.Err, "seed %d, shape %d", seed, shape)
			if shape == sim.Connectors {
				want = r.Final
			}
			require.Equal(t, want, r.Final, "seed %d, shape %d", seed, shape)
		}
	}
}

// Without overflows and relists, watches with the same request receive the same
// sequence, regardless of the sizes of buffers.
func TestMetamorphic_Sequences(t *testing.T) {
	variants := []sim.Setup{{Message: 200, History: 4}, {Message: 1 << 16, History: 1000}, {Window: 4, Credit: 300}, {Window: 1024, Batched: true}}
	compared := 0
	for seed := uint64(1); seed <= 25; seed++ {
		var before []sim.Judged
		for _, setup := range variants {
			setup.Budget = 1
			r := sim.Run(seed, sim.Program(seed), setup)
			require.NoError(t, r.Err, "seed %d, %+v", seed, setup)
			for _, b := range r.Watches {
				for _, a := range before {
					if a.Source != b.Source || a.Kind != b.Kind || len(a.Relists)+len(b.Relists) > 0 {
						continue
					}
					require.NoError(t, check.Suffix(b.Log, a.Watch, b.Watch), "seed %d, %+v", seed, setup)
					if a.Filter == b.Filter && a.Scope == b.Scope && len(a.Events) > 0 && len(b.Events) > 0 {
						compared++
					}
				}
			}
			before = append(before, r.Watches...)
		}
	}
	require.Greater(t, compared, 100)
}

// A direct collection may be proven current before its watch has a response. Here, the
// connection is lost after the cluster was confirmed. The time without progress begins at
// the confirmation, not when the newest version was reported.
func TestSilenceBeginsWithTheConfirmationOfAResumption(t *testing.T) {
	ops := []sim.Op{
		{Kind: "latency", Seed: 0x81a895bdf0ca6ae7},
		{Kind: "open-collection", Seed: 0xb8189b162a459c7b},
		{Kind: "new-source", Seed: 0x284d7b360e9891f6},
		{Kind: "idle", Seed: 0x58bdb078e48355b7},
		{Kind: "half-open", Seed: 0x9965ec5b65b7ab32},
	}
	r := sim.Run(21354, ops, sim.Setup{})
	require.NoError(t, r.Err)
	require.NotContains(t, r.Seen.Missing(), "direct: watch resumed")
	require.NotContains(t, r.Seen.Missing(), "half-open connection")
}

// A list whose corrupt bodies are found when one is read was complete before. The events that the
// watches received from that list therefore remain valid.
func TestListIsDroppedAfterItsEventsWereDelivered(t *testing.T) {
	ops := []sim.Op{
		{Kind: "transaction", Seed: 0x2883e712c046a2d0},
		{Kind: "burst", Seed: 0x0ea9dc535a0c60fd},
		{Kind: "restart-connector", Seed: 0xe2b330c8e27e8b67},
		{Kind: "busy", Seed: 0x726af7a837c96d65},
		{Kind: "open-rows", Seed: 0x220da5602cf4a337},
		{Kind: "open-rows", Seed: 0x9ec034b448ee0ce1},
		{Kind: "open-collection", Seed: 0x255e62e8e3776671},
		{Kind: "lag", Seed: 0xc92ca2602588a2be},
		{Kind: "burst", Seed: 0x45a81ecbe4d2f784},
		{Kind: "idle", Seed: 0xc48cac31a2180d05},
		{Kind: "open-slow-watch", Seed: 0x3dbaa7e669e12fa1},
		{Kind: "drop", Seed: 0xd5fb4f56e138d7f1},
		{Kind: "burst", Seed: 0xe530afed6da89eb0},
		{Kind: "evict-behind", Seed: 0x77445924f1b92460},
	}
	r := sim.Run(200542, ops, sim.Setup{})
	require.NoError(t, r.Err)
	require.NotContains(t, r.Seen.Missing(), "list with corrupt bodies dropped when one is read")
}

// Shrinking keeps the failure and removes unnecessary ops.
func TestShrink(t *testing.T) {
	ops := append(sim.Program(3), sim.Op{Kind: "no such op"})
	ops = append(ops, sim.Program(4)...)
	r := sim.Run(3, ops, sim.Setup{})
	require.ErrorIs(t, r.Err, sim.ErrPanic)
	require.Len(t, sim.Shrink(r, sim.Setup{}).Ops, 1)
}
