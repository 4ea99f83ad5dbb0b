//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/limit"
)

// TestMain runs main instead of the tests if this process is a flood.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == floodCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// The test runs a few dozen readers during each kind of abuse. The limits are low, so
// that a few clients suffice to reach them. The result does not depend on timing.
func TestEachAbuseIsRefusedAndHealthyReadersMissNothing(t *testing.T) {
	binary, err := filepath.Abs("../../../build/watchglass")
	require.NoError(t, err)
	require.FileExists(t, binary, `build it first: "make build"`)
	report, err := Run(t.Context(), Config{
		Readers: 30, Idle: 10, Informers: 5, FirstSyncs: 10, Objects: 1000, Rate: 50, Scale: 10,
		Binary: binary, Dir: t.TempDir(), Out: t.Output(),
		Serve: []string{
			"--max-refused-tokens", "20", "--max-requests", "20", "--max-waiting-requests", "20", "--max-unauthenticated-per-address", "50",
			"--max-client-message-rate", "30", // allows two or three subscriptions per second
		},
	})
	require.NoError(t, err)
	require.NoError(t, report.print(t.Output()))
	require.Len(t, report.outcomes, len(abuses(Config{})))
	for _, o := range report.outcomes {
		assert.Empty(t, o.beside.ended, o.name)
		assert.Positive(t, o.attempts.Load(), o.name)
		if len(o.refusals) > 0 {
			assert.Positive(t, o.refusedBy(o.beside.refused), "%s: %v", o.name, o.beside.refused)
		}
	}
}

func TestMissedTargetsAreNamed(t *testing.T) {
	r := &report{}
	refused := map[string]int{limit.MaxRequests.Name: 3}
	a := &abuse{name: "unread lists", refusals: []*limit.Limit{limit.MaxRequests}}
	r.abused(a, sample{p50: 10 * time.Millisecond, p99: 20 * time.Millisecond}, sample{p50: 15 * time.Millisecond, p99: 30 * time.Millisecond, memory: 100, refused: refused})
	require.Empty(t, r.missed(100))
	r.abused(a, sample{p50: time.Millisecond, p99: time.Millisecond}, sample{p50: 2 * time.Millisecond, p99: 3 * time.Millisecond, memory: 101_000_000, ended: []error{errors.New("EOF")}})
	require.Equal(t, []string{
		"unread lists: p50 is 2.00 times as long, expected at most 1.5",
		"unread lists: p99 is 3.00 times as long, expected at most 1.5",
		"unread lists: the connector takes 101 MB, expected at most 100 MB",
		"unread lists: 1 healthy readers were cut off, the first by: EOF",
		"unread lists: was not refused by max-requests",
	}, r.missed(100_000_000))
	r.abused(&abuse{name: "first syncs"}, sample{p50: time.Millisecond}, sample{p50: 5 * time.Millisecond})
	require.Len(t, r.missed(100_000_000), 5, "legitimate work has no target")
	r.add(cost{"reader", 10, 400_000, 50_000_000})
	var out bytes.Buffer
	require.NoError(t, r.print(&out))
	require.Regexp(t, `reader\s+10\s+40\.0 kB\s+50 MB`, out.String())
	require.Regexp(t, `unread lists.*1\.50.*1\.50.*max-requests 3`, out.String())
}

func TestLatenciesAreTakenOnce(t *testing.T) {
	var l latencies
	for i := range 100 {
		l.add(time.Duration(100-i) * time.Millisecond)
	}
	require.Len(t, l.take(), 100)
	require.Empty(t, l.take())
}

func TestRoundsAreMeasuredTogether(t *testing.T) {
	var s sample
	var late []time.Duration
	for i := range 100 {
		late = append(late, time.Duration(100-i)*time.Millisecond)
	}
	s.add(sample{latencies: late, memory: 7, busy: 1, elapsed: 10, refused: map[string]int{"a": 1}})
	require.Equal(t, []time.Duration{51 * time.Millisecond, 100 * time.Millisecond}, []time.Duration{s.p50, s.p99})
	s.add(sample{latencies: make([]time.Duration, 100), memory: 5, busy: 2, elapsed: 20, refused: map[string]int{"a": 2, "b": 1}})
	require.Equal(t, []time.Duration{time.Millisecond, 99 * time.Millisecond}, []time.Duration{s.p50, s.p99})
	require.Len(t, s.latencies, 200)
	require.EqualValues(t, 7, s.memory)
	require.InDelta(t, 0.1, s.cores(), 1e-9)
	require.Equal(t, map[string]int{"a": 3, "b": 1}, s.refused)
}

func TestFloodOfUnknownNameIsRefused(t *testing.T) {
	err := runFlood([]string{"-name", "nonsense"}, strings.NewReader(""), t.Output())
	require.EqualError(t, err, `-name "nonsense": no such kind of abuse`)
}
