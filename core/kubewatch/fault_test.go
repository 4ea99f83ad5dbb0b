package kubewatch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/kubeserver"
	"github.com/watchglass/watchglass/core/wire"
)

// count returns the number of requests whose path contains all of the words.
func (s *server) count(words ...string) int {
	n := 0
	for _, path := range s.paths {
		all := true
		for _, word := range words {
			all = all && strings.Contains(path, word)
		}
		if all {
			n++
		}
	}
	return n
}

const (
	initial = "sendInitialEvents=true"
	watches = "watch=1&resourceVersion="
)

// paged reports whether a request lists objects, instead of reading only the newest
// version.
func paged(path string) bool {
	return !strings.Contains(path, "watch=1") && strings.HasPrefix(path, "/api/v1/pods") && !strings.Contains(path, "limit=1&") && !strings.HasSuffix(path, "limit=1")
}

// answers makes the server call the function "with" for each request whose path contains
// the word, and send the result. If that result is nil, the server responds normally.
func (s *server) answers(word string, with func() *answer) {
	s.fail = func(path string) *answer {
		if strings.Contains(path, word) {
			return with()
		}
		return nil
	}
}

// following returns a rig whose collection is live with the given number of objects.
func following(t *testing.T, objects int) *rig {
	t.Helper()
	r := newRig(t)
	fill(r.server, objects)
	r.collection()
	r.converged()
	return r
}

// recovers ends the failures of the server, and checks that the collection is live after
// the given time.
func (r *rig) recovers(millis int64) {
	r.t.Helper()
	r.server.fail = nil
	r.pass(millis)
	r.converged()
}

func TestR4AServerThatRefusesInitialEventsIsListedInPages(t *testing.T) {
	r := newRig(t)
	fill(r.server, 10)
	r.server.Classic, r.server.PageSize = true, 4
	r.collection()
	r.converged()
	require.Equal(t, 2, r.server.count("continue="), "the two after the first")
	r.cut(func() {
		r.server.put("ns-0/pod-0", "web", 9)
		r.server.Compacted = r.server.Newest
	})
	r.pass(2_000) // the next watch is refused as too old
	r.converged()
	require.Equal(t, 1, r.server.count(initial), "a refused request is not repeated")
}

func TestR4AServerThatNeverMarksTheEndIsListed(t *testing.T) {
	r := newRig(t)
	fill(r.server, 5)
	r.server.Unended = true
	r.collection()
	r.pass(29_000)
	require.Equal(t, api.StateSyncing, r.state.State)
	r.pass(5_000)
	r.converged()
}

// A server that has no objects and omits the end mark sends no bytes at all, so Firefox
// reports no status code.
func TestR4AServerThatNeverMarksTheEndOfNothingIsListed(t *testing.T) {
	r := newRig(t)
	r.server.Unended, r.lateCodes = true, true
	r.collection()
	r.pass(35_000)
	r.converged()
	require.Equal(t, 1, r.server.count(initial))
}

// If a server ends every watch before its initial events are complete, the engine
// lists instead.
func TestR4_InitialEventsThatKeepEndingEarlyAreListed(t *testing.T) {
	r := newRig(t)
	fill(r.server, 5)
	r.server.answers(initial, func() *answer {
		return &answer{code: 200, end: true, data: watchEvent("ADDED", r.server.object("ns-0/pod-0"))}
	})
	r.collection()
	r.pass(5_000)
	r.converged()
	require.Equal(t, 1, r.server.count(initial))
}

func TestR4_ChangesAmongTheInitialEventsAreRejected(t *testing.T) {
	r := newRig(t)
	fill(r.server, 5)
	r.server.Unended = true
	r.collection()
	r.server.delete("ns-0/pod-0")
	r.pass(3_000)
	r.converged()
}

func TestR3ATokenThatExpiresLeadsToOneListWithoutPages(t *testing.T) {
	r := newRig(t)
	fill(r.server, 10)
	r.server.Classic, r.server.PageSize, r.server.expirePage = true, 4, 2
	r.collection()
	r.converged()
	require.Equal(t, 2, r.server.count("continue="))
	r.server.expirePage = 0
	r.cut(func() {
		r.server.put("ns-0/pod-0", "web", 1)
		r.server.Compacted = r.server.Newest
	})
	r.pass(10_000)
	r.converged()
	require.Equal(t, 4, r.server.count("continue="), "the next list has pages again")
}

func TestP18_ExpiredWatchIsListedAgain(t *testing.T) {
	r := following(t, 6)
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1, Policy: api.PolicyStall})
	r.events = nil
	r.cut(func() {
		r.server.put("ns-0/pod-0", "web", 1)
		r.server.delete("ns-1/pod-1")
		r.server.Compacted = r.server.Newest
	})
	r.pass(2_000)
	r.converged()
	require.ElementsMatch(t, []string{"MODIFIED ns-0/pod-0", "DELETED ns-1/pod-1"}, r.events)
	require.NotContains(t, r.states, api.StateStale)
}

func TestR10_OverloadedServerIsNotContactedBeforeTheRequestedTime(t *testing.T) {
	r := newRig(t)
	r.server.fail = func(path string) *answer {
		if !paged(path) && !strings.Contains(path, initial) {
			return nil
		}
		a := refuse(429, "TooManyRequests", "slow down")
		a.retry = 7
		return a
	}
	r.collection()
	r.pass(6_900)
	require.Equal(t, 1, r.server.count(initial))
	require.Equal(t, 429, r.state.Status.Code)
	r.recovers(2_000)
}

func TestImmediatelyExpiredVersionBacksOff(t *testing.T) {
	r := newRig(t)
	fill(r.server, 3)
	r.server.Compacted = 1_000_000
	r.collection()
	r.pass(60_000)
	require.Less(t, r.server.count(initial), 12)
	require.Equal(t, r.server.versions(), r.list())
	r.server.Compacted = 0
	r.pass(60_000)
	r.converged()
}

func TestR9InternalErrorsAreRetriedForHalfAMinuteThenListed(t *testing.T) {
	r := newRig(t)
	fill(r.server, 3)
	r.server.answers(watches, func() *answer {
		return &answer{code: 200, data: watchEvent("ERROR", kubeserver.Status(500, "InternalError", "etcdserver: no leader")), end: true}
	})
	r.collection()
	r.pass(29_000)
	require.Equal(t, 1, r.server.count(initial))
	require.Less(t, r.server.count(watches), 12, "attempts are spaced")
	r.pass(60_000)
	require.Greater(t, r.server.count(initial), 1)
	r.recovers(70_000)
}

func TestR8_AWatchThatEndsImmediatelyIsNotRepeatedInALoop(t *testing.T) {
	r := newRig(t)
	fill(r.server, 3)
	r.server.answers(watches, func() *answer { return &answer{code: 200, end: true} })
	r.collection()
	r.pass(60_000)
	require.Less(t, r.server.count(watches), 12)
	require.Contains(t, r.states, api.StateStale)
	require.Contains(t, r.state.Status.Message, "immediately, without an event")
	require.Equal(t, r.server.versions(), r.list(), "the state remains")
	r.recovers(60_000)
}

func TestP10_WatchContinuesWhereTheLastOneEnded(t *testing.T) {
	r := following(t, 3)
	for i := range 40 {
		r.pass(1_500)
		r.server.put("ns-0/pod-0", "web", i)
		if i%3 == 0 {
			r.server.put("ns-1/pod-1", "web", i)
			r.server.delete("ns-1/pod-1")
		}
	}
	r.pass(1_000)
	r.converged()
	require.Equal(t, 1, r.server.count(initial))
	require.NotContains(t, r.states, api.StateReconnecting)
}

func TestAnEndWithinAnObjectIsResumed(t *testing.T) {
	r := following(t, 3)
	first := true
	r.server.fail = func(path string) *answer {
		if first && strings.Contains(path, watches) {
			first = false
			event := r.server.modified("ns-0/pod-0")
			return &answer{code: 200, data: event[:len(event)-20], end: true}
		}
		return nil
	}
	r.pass(10_000)
	require.Contains(t, r.states, api.StateReconnecting)
	r.pass(5_000)
	r.converged()
	require.Equal(t, 1, r.server.count(initial), "it does not list again")
}

func TestBrokenJSONIsReportedAndRetried(t *testing.T) {
	r := following(t, 3)
	want := r.list()
	r.server.answers(watches, func() *answer {
		return &answer{code: 200, data: []byte(`{"type":"ADDED","object":{"metadata":{"name":,}}}` + "\n")}
	})
	r.pass(60_000)
	require.Equal(t, api.StateStale, r.state.State)
	require.Contains(t, r.state.Status.Message, "watch of v1/pods: the server's response is invalid")
	require.Contains(t, r.state.Status.Message, "expected a value, found ','")
	require.Equal(t, want, r.list())
	r.recovers(60_000)
}

// The state of a server that lags, or was restored from a backup, is never applied. The
// collection keeps its data and becomes stale.
func TestNothingGoesBackInTime(t *testing.T) {
	r := following(t, 5)
	want, at := r.list(), r.state.ResourceVersion
	newest := r.server.Newest
	r.server.Newest = 101
	r.pass(120_000)
	require.Equal(t, api.StateStale, r.state.State)
	require.Contains(t, r.state.Status.Message, "lags behind")
	require.Equal(t, want, r.list())
	r.server.Compacted = newest // resuming is not possible, so the engine needs a list
	r.pass(120_000)
	require.Equal(t, want, r.list())
	require.Equal(t, at, r.state.ResourceVersion)
	r.server.Newest = newest
	r.pass(60_000)
	r.converged()
}

func TestSilentServerMakesTheCollectionStale(t *testing.T) {
	r := following(t, 5)
	r.server.fail = func(string) *answer { return &answer{} }
	r.pass(45_000)
	require.Equal(t, api.StateStale, r.state.State)
	r.recovers(45_000)
}

func TestMissingRightsAreRetriedPeriodically(t *testing.T) {
	for _, code := range []int{401, 403} {
		r := newRig(t)
		r.server.answers("/api/v1/pods", func() *answer { return refuse(code, "Forbidden", "pods is forbidden: you cannot list") })
		r.collection()
		require.Equal(t, api.StateForbidden, r.state.State)
		require.Contains(t, r.state.Status.Message, "you cannot list")
		require.Equal(t, code == 401, strings.Contains(r.state.Status.Message, "credentials are missing"))
		r.pass(29_000)
		require.Equal(t, 1, r.server.count(initial))
		r.recovers(2_000)
	}
}

func TestClusterWithAForbiddenIdentity(t *testing.T) {
	r := newRig(t)
	r.server.answers("kube-system", func() *answer { return refuse(403, "Forbidden", "no") })
	fill(r.server, 2)
	r.collection()
	r.converged()
}

// Another cluster at the same address has unrelated versions, so the engine starts over.
func TestAnotherClusterStartsOver(t *testing.T) {
	r := following(t, 9)
	r.cut(func() {
		r.server = newServer()
		r.server.UID, r.server.Newest = "cluster-2", 7
		fill(r.server, 2)
	})
	r.pass(10_000)
	r.converged()
}

// If the server lacks a resource, the client retries with back-off. The collection
// becomes live once the server has the resource.
func TestAResourceThatTheServerLacks(t *testing.T) {
	r := newRig(t)
	r.collection(func(f *wire.OpenCollection) { f.Resource = "example.com/v1/gadgets" })
	require.Equal(t, api.StateConnecting, r.state.State)
	require.Equal(t, 404, r.state.Status.Code)
	require.Equal(t, []string{"/api/v1/namespaces/kube-system", "/apis/example.com/v1"}, r.server.paths)

	r.server.fail = gadgets("Gadget")
	r.pass(60_000)
	require.Equal(t, api.StateLive, r.state.State, "%v", r.state.Status)
	require.EqualValues(t, 1, r.state.Objects)
}

// gadgets returns the responses of a server whose discovery lists the resource gadgets
// with the given kind, and which has one gadget.
func gadgets(kind string) func(path string) *answer {
	return func(path string) *answer {
		switch {
		case path == "/apis/example.com/v1":
			return &answer{code: 200, end: true, data: []byte(`{"resources":[{"name":"gadgets/status","kind":"X"},` +
				`{"name":"gadgets","kind":"` + kind + `","namespaced":true}]}`)}
		case strings.Contains(path, initial):
			return refuse(422, "Invalid", "sendInitialEvents: Forbidden")
		case strings.HasPrefix(path, "/apis/example.com/v1/gadgets?limit="):
			return &answer{code: 200, end: true, data: []byte(
				`{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"namespace":"ns","name":"a","resourceVersion":"3"}}]}`)}
		case strings.Contains(path, watches):
			return &answer{code: 200}
		}
		return nil
	}
}

// The kind of a resource that is not in the catalog comes from the server's discovery.
// The client adds the kind to the items of a list, which omit the kind.
func TestAResourceThatTheServerDescribes(t *testing.T) {
	for kind, known := range map[string]bool{"Gadget": true, `Gad\"get`: false, "": false} {
		r := newRig(t)
		r.server.fail = gadgets(kind)
		r.collection(func(f *wire.OpenCollection) { f.Resource = "example.com/v1/gadgets" })
		if !known {
			require.Equal(t, api.StateConnecting, r.state.State)
			require.Contains(t, r.state.Status.Message, "is not the name of a kind")
			continue
		}
		require.Equal(t, api.StateLive, r.state.State, "%v", r.state.Status)
		require.Equal(t, []string{"metadata.name", "metadata.namespace"}, r.schema.Schema.Fields)
		r.step(&wire.Get{Request: 1, Collection: 1, Key: "ns/a"})
		var reply wire.ObjectReply
		require.NoError(t, reply.Parse(r.seen[wire.TypeObjectReply][0]))
		require.JSONEq(t, `{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"namespace":"ns","name":"a","resourceVersion":"3"}}`,
			string(reply.Item.Envelope.Body().Data))
	}
}

func TestR6_EventsOfOtherKindsAreSkipped(t *testing.T) {
	r := following(t, 2)
	for stream, a := range r.server.open {
		if a.watch == nil {
			continue
		}
		for _, event := range [][]byte{
			watchEvent("ADDED", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"name":"t","resourceVersion":"999"}}`),
			watchEvent("RENAMED", `{}`),
		} {
			r.step(&wire.StreamData{Stream: stream, Data: event})
		}
	}
	r.converged()
	r.step(&wire.Inspect{Request: 4})
	var reply wire.InspectReply
	require.NoError(t, reply.Parse(r.seen[wire.TypeInspectReply][0]))
	require.Contains(t, reply.Entries, wire.InspectEntry{Name: "passedOver", Value: 2})
}

func TestReconnectDoesNotWait(t *testing.T) {
	r := newRig(t)
	r.server.fail = func(string) *answer { return refuse(503, "ServiceUnavailable", "starting") }
	r.collection()
	r.pass(20_000)
	r.server.fail = nil
	r.step(&wire.Reconnect{})
	r.settle()
	r.converged()
}

// Numbers in a server's Status that do not fit the fields of a frame are ignored.
func TestStatusWithNumbersOutOfRange(t *testing.T) {
	for _, numbers := range []string{
		`"code":99999999999`, `"code":-1`, `"code":7`, `"code":1000`, `"code":1e3`,
		`"code":503,"details":{"retryAfterSeconds":99999999999}`, `"code":503,"details":{"retryAfterSeconds":-1}`,
	} {
		for _, code := range []int{200, 503} {
			r := newRig(t)
			fill(r.server, 2)
			r.server.answers(watches, func() *answer {
				failure := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"odd",` + numbers + `}`
				if code != 200 {
					return &answer{code: code, data: []byte(failure), end: true}
				}
				return &answer{code: code, data: watchEvent("ERROR", failure), end: true}
			})
			r.collection()
			r.pass(5_000)
			require.Equal(t, api.StateReconnecting, r.state.State, "%s, answered %d", numbers, code)
			require.Contains(t, r.state.Status.Message, "odd")
			r.recovers(60_000)
		}
	}
}

// A watch that ends just when its subscription is replaced does not end the new
// subscription.
func TestWatchThatEndsAsItIsReplacedDoesNotEndItsSuccessor(t *testing.T) {
	r := newRig(t)
	fill(r.server, 3)
	r.collection()
	stream := r.watching()
	delete(r.server.open, stream)
	r.now += 60_000 // while the program was suspended
	r.step(&wire.StreamClosed{Stream: stream, Message: "connection reset"})
	r.server.delete("ns-0/pod-0")
	r.settle()
	r.converged()
}

// Several servers may share one address. If the watched server has lost the connection to
// its storage while another server reports the newest version, the collection is not
// live.
func TestProgressOfAnotherServerIsNoProgressOfTheWatch(t *testing.T) {
	r := following(t, 3)
	r.pass(10_000)
	r.server.Known = r.server.Newest
	r.server.put("ns-0/pod-0", "web", 1)
	r.pass(45_000)
	require.Equal(t, api.StateStale, r.state.State)
	r.cut(func() {})
	r.pass(10_000)
	require.Equal(t, api.StateStale, r.state.State, "the first watch after a cut does not prove completeness")
	r.server.Known = 0
	r.recovers(10_000)
	require.Equal(t, 1, r.server.count(initial), "it does not list again")
}

// A list that replaces an older list is rejected if its server lags behind the known
// versions.
func TestC36_ListFromALaggingServerIsRefused(t *testing.T) {
	for _, classic := range []bool{false, true} {
		r := newRig(t)
		r.server.Classic = classic
		fill(r.server, 3)
		r.collection()
		r.converged()
		r.cut(func() {
			r.server.put("ns-0/pod-0", "web", 9)
			r.server.Compacted = r.server.Newest // the watch is refused as too old
			r.server.Known = r.server.Newest
			r.server.put("ns-0/pod-0", "web", 10)
		})
		r.states = nil
		r.pass(45_000)
		require.NotContains(t, r.states, api.StateLive)
		require.Equal(t, api.StateStale, r.state.State)
		r.server.Known = 0
		r.recovers(60_000)
	}
}

// After a disconnect, a bookmark soon confirms that no change is missing, although
// changes of other resources have advanced the server's version.
func TestCollectionIsLiveSoonAfterADisconnect(t *testing.T) {
	r := following(t, 3)
	r.cut(func() { r.server.Newest += 5 })
	r.pass(5_000)
	r.converged()
}
