//go:build linux

package main

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSizingMeasuresEachSize(t *testing.T) {
	binary, err := filepath.Abs("../../../build/watchglass")
	require.NoError(t, err)
	require.FileExists(t, binary, `build it first: "make build"`)
	s := sizing{Config: Config{Binary: binary, Dir: t.TempDir(), Out: t.Output()}, runs: 2, window: 300 * time.Millisecond,
		sizes: []size{{pods: 100, readers: 3}, {pods: 100, readers: 3, informers: 2, rate: 200}, {pods: 200, readers: 1}}}
	rows, err := s.run(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 3)
	for _, row := range rows {
		require.Len(t, row, 2)
		for _, u := range row {
			require.Positive(t, u.start)
			require.Positive(t, u.memory)
			require.GreaterOrEqual(t, u.peak, u.memory)
		}
	}
	require.Zero(t, rows[0][0].changes, "nothing changes at rate zero")
}

func TestSizingTable(t *testing.T) {
	var out bytes.Buffer
	row := []usage{
		{changes: 12, start: 3 * time.Second, cores: 0.3, memory: 70_000_000, peak: 90_000_000},
		{changes: 10, start: time.Second, cores: 0.1, memory: 50_000_000, peak: 99_000_000},
		{changes: 11, start: 2 * time.Second, cores: 0.2, memory: 60_000_000, peak: 80_000_000},
	}
	require.NoError(t, printSizing(&out, []size{{pods: 1000, readers: 10, informers: 5}}, [][]usage{row}))
	require.Contains(t, out.String(), "| 1000 | 11 | 10 | 5 | 2.0 s | 200m | 100m to 300m | 60 MB | 90 MB |\n")
}
