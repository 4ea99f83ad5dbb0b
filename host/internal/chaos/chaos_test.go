//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/host/embedetcd"
	browser "github.com/watchglass/watchglass/host/internal/chromium"
)

func TestMain(m *testing.M) {
	if member := os.Getenv(memberVariable); member != "" {
		runMember(member)
	}
	os.Exit(m.Run())
}

// testConfig returns the configuration of a run that takes half a minute, or more than a
// minute on a busy machine.
func testConfig(t *testing.T) Config {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	c := Config{
		Seed: 1, Duration: 55 * time.Second, Hold: 700 * time.Millisecond, Objects: 400, Rate: 60, Nudge: true, Once: true,
		Binary: filepath.Join(root, "build", "watchglass"), Package: filepath.Join(root, "js", "dist"), Out: t.Output(),
	}
	for _, built := range []string{c.Binary, filepath.Join(c.Package, "index.js")} {
		require.FileExists(t, built, `build it first: "make build js"`)
	}
	c.Chromium, err = browser.Find()
	require.NoError(t, err)
	c.Dir, err = os.MkdirTemp("", "chaos-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("recordings and logs are in", c.Dir)
			return
		}
		require.NoError(t, os.RemoveAll(c.Dir))
	})
	return c
}

// The run injects each fault once. On a busy machine, time may run out before all faults are
// injected.
func TestReadersEqualEtcdAfterEachFault(t *testing.T) {
	c := testConfig(t)
	report, err := Run(t.Context(), c)
	require.NoError(t, report.print(t.Output()))
	require.NoError(t, err, "seed %d", c.Seed)
	total := report.total()
	require.Positive(t, total.times)
	require.Positive(t, total.events)
	require.Zero(t, total.violations())
	for _, row := range report.rows {
		if row.times == 0 {
			t.Log("no time was left for:", row.fault)
		}
	}
}

// After a timeout, compact tries again, although the first attempt may have succeeded. The
// second attempt must not fail.
func TestCompactingTwiceIsNotAnError(t *testing.T) {
	server, err := embedetcd.Start(embedetcd.Config{Dir: t.TempDir(), UnsafeNoFsync: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	e := &etcd{client: server.Client()}
	put, err := e.client.Put(t.Context(), "key", "value")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 2 {
		require.NoError(t, e.compact(ctx, uint64(put.Header.Revision)))
	}
	_, err = e.client.Get(t.Context(), "key", clientv3.WithRev(put.Header.Revision-1))
	require.ErrorIs(t, err, rpctypes.ErrCompacted)
}

func TestDifferencesAreNamed(t *testing.T) {
	want := contents{"a/x": {1, "{}"}, "a/y": {2, "{}"}, "a/z": {3, "{}"}}
	require.NoError(t, differences(want, want))
	got := contents{"a/x": {1, "{ }"}, "a/y": {1, "{}"}, "b/x": {1, "{}"}}
	err := differences(got, want)
	require.ErrorContains(t, err, "4 of 3 objects differ")
	for _, text := range []string{`a/x@1 is { }, expected {}`, "a/y is at 1, expected 2", "a/z@3 is missing"} {
		require.ErrorContains(t, err, text)
	}
	delete(want, "a/x")
	delete(want, "a/y")
	delete(want, "a/z")
	require.ErrorContains(t, differences(got, want), "a/x@1 does not exist in etcd")
}

func TestViolationsAreCountedByGuarantee(t *testing.T) {
	r := newReport(7)
	for _, err := range []error{check.ErrUnique, check.ErrOrdered, check.ErrBookmarkable, check.ErrReliable, check.ErrFold, errLost, errors.New("other")} {
		r.violated("latency", err)
	}
	total := r.total()
	require.Equal(t, []int{1, 2, 3, 1}, []int{total.duplicated, total.unordered, total.lost, total.other})
	var out bytes.Buffer
	require.NoError(t, r.print(&out))
	require.Regexp(t, `(?m)^seed 7, .*, 7 violations$`, out.String())
}
