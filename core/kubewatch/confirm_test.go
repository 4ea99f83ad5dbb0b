package kubewatch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// replace replaces the server with another cluster, whose versions are in the same
// range.
func (s *server) replace() {
	s.UID, s.Log, s.Compacted = "cluster-2", nil, 0
	s.put("ns-1/other", "web", 1)
}

// replaceAfter replaces the cluster after the given number of identity responses.
func (s *server) replaceAfter(answers int) {
	s.answers(who, func() *answer {
		if answers--; answers == 0 {
			s.fail = nil
			s.replace()
		}
		return sent(`{"metadata":{"uid":"cluster-1"}}`)()
	})
}

// Another cluster may replace the first one between the request for the identity and the
// watch. The changes of the new cluster are never added to the state of the old one.
func TestAnotherClusterAtTheSameAddressIsNoticed(t *testing.T) {
	for name, happens := range map[string]func(*rig){
		"before the first watch": func(r *rig) {
			r.server.replaceAfter(1)
			r.cut(func() {})
		},
		"before a list that follows": func(r *rig) {
			r.server.replaceAfter(2)
			r.cut(func() { r.server.Compacted = r.server.Newest + 1 })
		},
		"before a list in pages that follows": func(r *rig) {
			r.server.Classic = true
			r.server.replaceAfter(2)
			r.cut(func() { r.server.Compacted = r.server.Newest + 1 })
		},
		"while the reader slept": func(r *rig) {
			r.now += 15_000
			r.server.tick(r.now) // the watch has ended
			r.server.replace()
			r.settle()
		},
	} {
		for _, late := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r := following(t, 9)
				r.lateCodes = late
				r.step(&wire.OpenWatch{Watch: 1, Collection: 1})
				r.pass(5_000)
				r.events = nil
				happens(r)
				r.pass(10_000)
				require.Equal(t, "cluster-2", r.server.UID)
				r.converged()
				require.Equal(t, []string{"closed HistoryLost"}, r.events, "a version of one cluster does not resume another")
			})
		}
	}
}

// Firefox reports the status code of a response with the first bytes of its body, and a
// watch without changes sends no bytes until its end. The resumption therefore completes
// when the server's newest version is not newer than the collection and the identity of
// the cluster is confirmed afterwards.
func TestResumesBeforeTheCodeOfAQuietWatch(t *testing.T) {
	r := following(t, 3)
	r.lateCodes = true
	r.cut(func() {})
	r.backedOff()
	r.pass(1_000)
	require.Equal(t, 1, r.resumed(), "the watch is pending")
	r.converged()
	r.server.put("ns-0/pod-0", "web", 7)
	r.server.delete("ns-1/pod-1")
	r.settle()
	r.converged()
	r.pass(120_000)
	r.converged()
	require.Equal(t, 1, r.server.count(initial), "it does not list again")
	require.Equal(t, 1, r.server.count("timeoutSeconds=4"), "no watch has failed")
}

// resumed returns the number of open watches whose status code has not arrived.
func (r *rig) resumed() (pending int) {
	for _, a := range r.server.open {
		if a.watch != nil && !a.begun {
			pending++
		}
	}
	return pending
}

// If the client confirms the cluster while a watch is pending, it confirms the cluster
// again when the response to the watch begins.
func TestPendingWatchIsConfirmedWhenItBegins(t *testing.T) {
	r := following(t, 9)
	r.lateCodes = true
	r.cut(func() {})
	r.backedOff()
	r.converged()
	r.server.replace()
	r.server.put("ns-1/other", "web", 2)
	r.pass(10_000)
	r.converged()
}

// A newest version that another cluster reports does not make the collection live, even
// if that version equals the version of the collection.
func TestPendingWatchOfAnotherClusterIsNotLive(t *testing.T) {
	r := following(t, 3)
	r.lateCodes = true
	r.cut(func() {
		r.server.Newest--
		r.server.replaceAfter(1)
	})
	r.states = nil
	r.backedOff()
	r.pass(1_000)
	require.Equal(t, []api.State{api.StateReconnecting, api.StateConnecting, api.StateSyncing, api.StateLive}, r.states)
	r.converged()
}

// A collection is not live before it has all changes of the server and the identity of
// the cluster is confirmed.
func TestPendingWatchIsNotLiveWithoutProof(t *testing.T) {
	for name, happens := range map[string]func(*server){
		"newer version":     func(s *server) { s.Newest++ }, // a change of another resource
		"no newest version": func(s *server) { s.answers(newer, func() *answer { return &answer{} }) },
		"no confirmation": func(s *server) {
			s.answers(who, func() *answer {
				s.answers(who, func() *answer { return &answer{} })
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := following(t, 3)
			r.lateCodes = true
			r.cut(func() { happens(r.server) })
			r.states = nil
			r.backedOff()
			r.pass(1_000)
			require.NotContains(t, r.states, api.StateLive)
			require.Equal(t, api.StateReconnecting, r.state.State)
			r.recovers(60_000)
		})
	}
}

// The collection is not live while an error response to its watch is incomplete, although
// the newest version and the identity are known.
func TestRefusedWatchIsNotLive(t *testing.T) {
	r := following(t, 3)
	r.lateCodes = true
	r.cut(func() {
		refused, identities := &answer{}, 0
		r.server.fail = func(path string) *answer {
			switch {
			case strings.Contains(path, watches):
				return refused
			case strings.Contains(path, who):
				if identities++; identities == 2 {
					refused.code, refused.data = 403, []byte("{")
				}
			}
			return nil
		}
	})
	r.states = nil
	r.backedOff()
	r.pass(1_000)
	require.NotContains(t, r.states, api.StateLive)
	r.server.fail = nil
	r.recovers(60_000)
}

// The confirmation of the identity costs one more request per subscription.
func TestIdentityOfAClusterIsRequestedTwice(t *testing.T) {
	r := following(t, 3)
	r.pass(120_000)
	require.Equal(t, 2, r.server.count(who))
	r.cut(func() {})
	r.pass(60_000)
	require.Equal(t, 4, r.server.count(who))
	r.converged()
}

// Events of a watch are not applied before the identity of the cluster is confirmed, even
// if the watch has ended meanwhile.
func TestAWatchWaitsUntilItsClusterIsConfirmed(t *testing.T) {
	r := following(t, 3)
	want := r.list()
	r.server.answers(who, func() *answer {
		r.server.answers(who, func() *answer { return &answer{code: 200} })
		return nil
	})
	r.cut(func() {})
	r.pass(2_000)
	r.server.put("ns-9/new", "web", 1)
	r.pass(5_000)
	for _, a := range r.server.open {
		require.Nil(t, a.watch, "it has ended")
	}
	require.Equal(t, want, r.list())
	require.Equal(t, api.StateReconnecting, r.state.State)
	for _, a := range r.server.open {
		if a.code == 200 && len(a.data) == 0 && !a.end {
			*a = *sent(`{"metadata":{"uid":"cluster-1"}}`)()
			a.begun = true
		}
	}
	r.settle()
	r.converged()
	require.Equal(t, 1, r.server.count(initial))
}

// If the confirmation fails, the status contains the error, and the engine retries.
func TestFailedConfirmationIsRetried(t *testing.T) {
	for name, fails := range map[string]func() *answer{
		"silent": func() *answer { return &answer{} },
		"error":  func() *answer { return refuse(500, "InternalError", "no leader") },
		"broken": sent(`{`),
	} {
		r := newRig(t)
		fill(r.server, 3)
		asked := 0
		r.server.answers(who, func() *answer {
			if asked++; asked == 2 {
				return fails()
			}
			return nil
		})
		r.collection()
		if name != "silent" {
			require.Contains(t, r.state.Status.Message, "once more who it is")
		}
		r.pass(60_000)
		r.converged()
		require.Equal(t, 4, asked, name)
		require.Equal(t, 1, r.server.count(initial), "it does not list again")
	}
}

// If the events of an unconfirmed watch exceed maxHeld bytes, the engine relists.
func TestLargerScopeIsListedAgain(t *testing.T) {
	r := following(t, 3)
	r.pass(5_000)
	r.server.answers(who, func() *answer {
		r.server.answers(who, func() *answer {
			r.server.fail = nil
			return &answer{code: 200} // never ends
		})
		return nil
	})
	r.cut(func() {})
	r.pass(1_000)
	r.server.put("ns-0/pod-0", strings.Repeat("x", 17<<20), 1)
	r.settle()
	r.server.put("ns-0/pod-0", "web", 1)
	r.pass(5_000)
	r.converged()
	require.Equal(t, 2, r.server.count(initial))
}
