package kubewatch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/kubeserver"
	"github.com/watchglass/watchglass/core/wire"
)

const (
	who   = "kube-system"
	newer = "limit=1"
)

func sent(data string) func() *answer {
	return func() *answer { return &answer{code: 200, data: []byte(data), end: true} }
}

func object(apiVersion, kind, metadata string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":"a","namespace":"ns"%s}}`, kind, apiVersion, metadata)
}

// A response that does not match the request leaves the state unchanged. The client
// reports the error and retries.
func TestInvalidResponses(t *testing.T) {
	const versioned = `,"resourceVersion":"7"`
	for name, c := range map[string]struct {
		classic bool
		word    string
		with    func() *answer
		message string
	}{
		"an error instead of the cluster's name": {word: who, with: func() *answer { return refuse(500, "InternalError", "no leader") }, message: "who it is"},
		"a name that is too long":                {word: who, with: sent(`{"a":"` + strings.Repeat("x", 5<<20) + `"}`), message: "longer than 4 MiB"},
		"an object without a version":            {word: initial, with: sent(string(watchEvent("ADDED", object("v1", "Pod", "")))), message: "has no resourceVersion"},
		"an object of another kind":              {word: initial, with: sent(string(watchEvent("ADDED", object("v1", "Node", versioned)))), message: "another kind than Pod"},
		"an object of another group":             {word: initial, with: sent(string(watchEvent("ADDED", object("x/v1", "Pod", versioned)))), message: "another kind than Pod"},
		"a mark without a version":               {word: initial, with: sent(string(watchEvent("BOOKMARK", `{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}`))), message: "without a resourceVersion"},
		"a list that is cut off":                 {classic: true, word: "limit=500", with: sent(`{"metadata":{"resourceVersion":"7"},"items":[`), message: "ended the list too early"},
		"a list without a version":               {classic: true, word: "limit=500", with: sent(`{"metadata":{},"items":[]}`), message: "the list has no resourceVersion"},
		"a list without a first member":          {classic: true, word: "limit=500", with: sent(`{,"metadata":{"resourceVersion":"7"},"items":[]}`), message: `a list with ","`},
		"a list of something else":               {classic: true, word: "limit=500", with: sent(`{"metadata":{"resourceVersion":"7"},"items":[` + object("v1", "Node", versioned) + `]}`), message: "another kind than Pod"},
		"an item without an end":                 {classic: true, word: "limit=500", with: sent(`{"items":["` + strings.Repeat("x", 17<<20)), message: "more than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			fill(r.server, 2)
			r.server.Classic = c.classic
			r.server.answers(c.word, c.with)
			r.piece = func(int) int { return 1 << 20 }
			r.collection()
			r.pass(1_000)
			require.NotEqual(t, api.StateLive, r.state.State)
			require.Contains(t, r.state.Status.Message, c.message)
			require.Zero(t, r.state.Objects)
			r.recovers(60_000)
		})
	}
}

// A list may have members other than items and metadata. The client ignores such members,
// even if they contain arrays of objects.
func TestAListHasMembersOfAllKinds(t *testing.T) {
	r := newRig(t)
	r.server.Classic = true
	r.server.answers("limit=500", sent(`{"more":[`+object("v1", "Node", "")+`,1,[]],"items":[],"n":-1.5e3,"metadata":{"resourceVersion":"100"},"last":[{}]}`))
	r.collection()
	r.converged()
}

// The client rejects an older state from a server that ignores the requested version.
func TestOlderStateIsRejected(t *testing.T) {
	r := following(t, 3)
	want := r.list()
	r.server.answers(initial, sent(string(bookmarkEvent(50, true))))
	r.cut(func() { r.server.Compacted = r.server.Newest + 1 })
	r.pass(5_000)
	require.Equal(t, want, r.list())
	require.Contains(t, r.state.Status.Message, "the server lags behind")
	r.server.Compacted = 0
	r.recovers(60_000)
}

// The collection makes progress only if the server reports its newest version and all
// changes up to that version have arrived. Neither the normal end of a watch nor the
// newest version alone suffices.
func TestProgressRequiresTheWatchAndTheNewestVersion(t *testing.T) {
	for name, c := range map[string]struct {
		word string
		with func() *answer
	}{
		"the newest version is missing":      {newer, func() *answer { return &answer{} }},
		"the newest version is cut off":      {newer, sent(`{"metadata":{"resourceVersion":"200"}`)},
		"the watch is empty":                 {watches, func() *answer { return &answer{code: 200} }},
		"the watch has ended with an object": {watches, sent(`{"type":"MODIFIED","object":{`)},
	} {
		t.Run(name, func(t *testing.T) {
			r := following(t, 3)
			r.server.answers(c.word, c.with)
			r.pass(12_000)
			r.server.put("ns-0/pod-0", "web", 1)
			r.pass(50_000)
			require.Equal(t, api.StateStale, r.state.State)
			require.LessOrEqual(t, len(r.server.open), 2, "unnecessary requests are cancelled")
			r.recovers(60_000)
		})
	}
}

// A watch may repeat events. The client skips a repeated event, because its version is
// not newer than the client's position.
func TestR7_RepeatedEventsOfAWatchAreSkipped(t *testing.T) {
	r := following(t, 3)
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1})
	r.server.delete("ns-0/pod-0")
	r.server.put("ns-0/pod-0", "web", 1)
	r.server.put("ns-1/pod-1", "web", 1)
	r.settle()
	r.events = nil
	stream := r.watching()
	for _, e := range r.server.Log {
		r.step(&wire.StreamData{Stream: stream, Data: []byte(e.Line())})
	}
	r.step(&wire.StreamData{Stream: stream, Data: bookmarkEvent(50, false)})
	require.Empty(t, r.events)
	r.pass(12_000)
	r.converged()
	require.Zero(t, r.server.count("resourceVersion=50"))
}

// The engine relists if the server cannot decode stored bytes (rule R9). If the error
// persists, the engine does not relist after every watch.
func TestR9_UnreadableBytesLeadToAList(t *testing.T) {
	r := following(t, 3)
	r.pass(5_000)
	r.server.answers(watches, sent(string(watchEvent("ERROR", kubeserver.Status(500, "StorageReadError", "cannot decode")))))
	r.cut(func() {})
	r.pass(2_000)
	require.Equal(t, 2, r.server.count(initial))
	r.pass(60_000)
	require.Less(t, r.server.count(initial), 12)
	r.recovers(60_000)
}

// Occasional internal errors between working watches do not cause a relist.
func TestR9InternalErrorsBetweenWatchesThatWork(t *testing.T) {
	r := following(t, 3)
	for i := range 5 {
		failed := false
		r.server.fail = func(path string) *answer {
			if failed || !strings.Contains(path, watches) {
				return nil
			}
			failed = true
			return refuse(500, "InternalError", "etcdserver: leader changed")
		}
		r.cut(func() {})
		r.pass(150_000) // long enough to reset the back-off
		require.True(t, failed)
		if i%2 == 0 {
			r.server.put("ns-0/pod-0", "web", i)
		}
		r.pass(5_000)
		r.converged()
	}
	require.Equal(t, 1, r.server.count(initial))
}

// Changes do not make the collection live while the server's watch cache lags behind its
// storage. The same holds for the first change after a disconnect.
func TestLateChangesAreNotProgress(t *testing.T) {
	r := following(t, 3)
	r.pass(10_000)
	behind := func() {
		for range 100 {
			r.server.put("ns-0/pod-0", "web", 1)
		}
		r.server.Known = r.server.Newest - 99
	}
	r.cut(behind)
	r.backedOff()
	require.Equal(t, r.server.Known, r.list()["ns-0/pod-0"], "it is catching up")
	require.Equal(t, api.StateReconnecting, r.state.State)
	for range 50 {
		r.server.put("ns-0/pod-0", "web", 1)
		r.server.Known++
		r.pass(1_000)
	}
	require.Equal(t, r.server.Known, r.list()["ns-0/pod-0"])
	require.Equal(t, api.StateStale, r.state.State)
	require.Contains(t, r.state.Status.Message, "it lags behind")
	require.Equal(t, 4, r.server.count(who), "it does not count as silent")
	r.server.Known = 0
	r.settle()
	r.recovers(10_000)
	require.Equal(t, 1, r.server.count(initial), "it does not list again")
}

// A collection that changes constantly becomes live once it has all changes up to the
// newest version that the server reported.
func TestCaughtUpCollectionIsLiveImmediately(t *testing.T) {
	r := following(t, 3)
	r.pass(10_000)
	r.server.answers(newer, sent(fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[]}`, r.server.Newest+2)))
	r.cut(func() {
		for range 3 {
			r.server.put("ns-0/pod-0", "web", 1)
		}
	})
	r.backedOff()
	r.converged()
}

// The status of a stale collection contains the server's response to the request for
// its newest version.
func TestReasonForMissingProgressIsReported(t *testing.T) {
	for word, with := range map[string]func() *answer{
		"slow down":       func() *answer { return refuse(429, "TooManyRequests", "slow down") },
		"expected a list": sent(`{"metadata":{}}`),
	} {
		r := following(t, 3)
		r.server.answers(newer, with)
		r.pass(25_000)
		require.Equal(t, api.StateLive, r.state.State)
		require.Nil(t, r.state.Status)
		r.pass(25_000)
		require.Equal(t, api.StateStale, r.state.State)
		require.Contains(t, r.state.Status.Message, "Kubernetes: asking for the newest version of v1/pods: ")
		require.Contains(t, r.state.Status.Message, word)
		r.recovers(30_000)
		require.Nil(t, r.state.Status)
	}
}
