package sim_test

import (
	"flag"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/sim"
)

var (
	seeds     = flag.Int("seeds", 300, "how many seeds to run")
	firstSeed = flag.Uint64("seed", 1, "the first of them")
)

func TestCampaign(t *testing.T) {
	report := sim.Campaign(*firstSeed, *seeds, 1, io.Discard)
	for _, r := range report.Failures[:min(len(report.Failures), sim.MaxFailures)] {
		t.Error(sim.Explain(r))
	}
	t.Logf("%d operations\n%s", report.Operations, report.Seen.String())
	if *seeds >= 300 {
		require.Empty(t, report.Seen.Missing(), "these situations never came up")
	}
}

// The same seed is the same run, to the last byte that readers are left with.
func TestRun_is_repeatable(t *testing.T) {
	for seed := range uint64(5) {
		a := sim.Run(seed, sim.Program(seed), sim.Setup{})
		b := sim.Run(seed, sim.Program(seed), sim.Setup{})
		require.Equal(t, a, b)
		require.NotEmpty(t, a.Final)
	}
}

// How much a message, a history or a credit holds is nobody's business: readers
// end with the same.
func TestMetamorphic(t *testing.T) {
	variants := []sim.Setup{
		{Message: 200}, {Message: 1 << 16}, {History: 4}, {History: 1000}, {Window: 4}, {Window: 1024},
		{Credit: 300}, {Credit: 1 << 22}, {Batched: true},
	}
	for seed := uint64(1); seed <= 12; seed++ {
		base := sim.Setup{Budget: 1}
		ops := slices.DeleteFunc(sim.Program(seed), dependsOnTiming)
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

// Ops whose outcome depends on what a program has heard by then: which version
// it names, or which of its watches it closes.
func dependsOnTiming(op sim.Op) bool {
	return op.Kind == "open-watch" || op.Kind == "close-watch" || op.Kind == "busy"
}

// Shrinking keeps the failure and leaves out what it does not need.
func TestShrink(t *testing.T) {
	ops := append(sim.Program(3), sim.Op{Kind: "no such op"})
	ops = append(ops, sim.Program(4)...)
	r := sim.Run(3, ops, sim.Setup{})
	require.ErrorIs(t, r.Err, sim.ErrPanic)
	require.Len(t, sim.Shrink(r, sim.Setup{}).Ops, 1)
}
