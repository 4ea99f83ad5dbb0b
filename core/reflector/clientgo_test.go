package reflector_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// This file contains the test cases of client-go's RetryWatcher and Reflector that apply
// to a reader of a connector. A watch corresponds to a subscription, and a list to a
// snapshot.

// answer is a connector's response to one subscription. It sends a snapshot or
// changes, and then may end the subscription or the connection.
type answer struct {
	snapshot api.ResourceVersion
	send     []api.ResourceVersion
	end      *api.Status
	ends     bool // end is sent, even if it is nil
	cut      bool
}

func sends(versions ...api.ResourceVersion) answer { return answer{send: versions} }

func (a answer) thenCut() answer                 { a.cut = true; return a }
func (a answer) thenEnds(why *api.Status) answer { a.end, a.ends = why, true; return a }
func ends(why *api.Status) answer                { return answer{}.thenEnds(why) }

// give sends the response a to the current subscription.
func (r *rig) give(a answer) {
	r.t.Helper()
	if a.snapshot > 0 {
		r.listed(a.snapshot, fmt.Sprintf("default/o%d rv=%d", a.snapshot, a.snapshot))
	} else if len(a.send) > 0 {
		r.described()
	}
	for _, rv := range a.send {
		all := changes(api.Added, fmt.Sprintf("default/o%d rv=%d", rv, rv))
		require.NoError(r.t, r.Receive(&wire.Events{ResourceVersion: rv, Changes: all}, 1))
		require.NoError(r.t, r.Receive(&wire.Progress{ResourceVersion: rv}, 0))
	}
	switch {
	case a.cut:
		r.Disconnected(api.Unavailable("cut"))
		r.Connected(5000)
	case a.ends:
		r.Receive(&wire.SubscriptionStatus{Status: a.end}, 0)
	}
}

// subscribes waits for the next subscription and returns it, or nil after the given
// time.
func (r *rig) subscribes(within int64) *wire.Subscribe {
	r.t.Helper()
	for end := r.now + within; ; r.at(r.now + 100) {
		if next := r.asked(); next != nil || r.now >= end {
			return next
		}
	}
}

// knowing returns a reflector that received the state of version rv on an earlier
// connection, and has just subscribed to the changes after rv.
func knowing(t *testing.T, rv api.ResourceVersion) *rig {
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	r.listed(rv)
	r.Disconnected(api.Unavailable("cut"))
	r.Connected(5000)
	return r
}

// watch starts a watch from a version, and returns a function that reads the
// versions of its events.
func (r *rig) watch(from api.ResourceVersion) (received func() versions) {
	r.t.Helper()
	var w *watcher.Watcher
	options := cacher.WatchOptions{ResourceVersion: from.String(), Policy: api.PolicyConflate}
	require.Nil(r.t, r.cacher.Watch(options, func(started *watcher.Watcher, _ *api.Status) { w = started }))
	require.NotNil(r.t, w)
	return func() (seen versions) {
		for d, ok := w.Take(); ok; d, ok = w.Take() {
			seen = append(seen, d.ResourceVersion)
		}
		return seen
	}
}

type versions = []api.ResourceVersion

func TestRetryWatcher(t *testing.T) {
	all := sends(1, 2, 5, 6, 7, 11).send
	for name, c := range map[string]struct {
		from     api.ResourceVersion
		answers  []answer
		asked    versions // requested versions; zero for a snapshot
		received versions
		state    api.State
	}{
		"recovers from an error": {1, []answer{ends(api.Internal("test")), sends(2)}, versions{1, 1}, versions{2}, api.StateLive},
		"starts over after a 410 at once": {
			1, []answer{ends(api.Expired("gone")), {snapshot: 2}}, versions{1, 0}, versions{2}, api.StateLive,
		},
		"recovers from a missing response": {1, []answer{answer{}.thenCut(), sends(2)}, versions{1, 1}, versions{2}, api.StateLive},
		"reads what follows":               {1, []answer{sends(2)}, versions{1}, versions{2}, api.StateLive},
		"skips what it has":                {1, []answer{sends(1, 2)}, versions{1}, versions{2}, api.StateLive},
		"skips older versions":             {3, []answer{sends(2)}, versions{3}, nil, api.StateLive},
		"starts over after a 410":          {5, []answer{sends(5, 6).thenEnds(api.Expired("gone")), {snapshot: 8}}, versions{5, 0}, versions{6, 7, 8}, api.StateLive},
		"stops when forbidden":             {5, []answer{ends(api.Forbidden("no"))}, versions{5}, nil, api.StateForbidden},
		"stops when unauthorized":          {5, []answer{ends(api.Unauthorized("who"))}, versions{5}, nil, api.StateForbidden},
		"recovers from a time-out":         {5, []answer{sends(6).thenEnds(&api.Status{Code: 504}), sends(7)}, versions{5, 6}, versions{6, 7}, api.StateLive},
		"recovers from a 500":              {5, []answer{sends(6).thenEnds(api.Internal("")), sends(7)}, versions{5, 6}, versions{6, 7}, api.StateLive},
		"recovers from an odd code":        {5, []answer{sends(6).thenEnds(&api.Status{Code: 666}), sends(7)}, versions{5, 6}, versions{6, 7}, api.StateLive},
		"recovers from an odd end":         {5, []answer{sends(6).thenEnds(nil), sends(7)}, versions{5, 6}, versions{6, 7}, api.StateLive},
		"one cut, one event":               {5, []answer{sends(6).thenCut(), {}}, versions{5, 6}, versions{6}, api.StateReconnecting},
		"two cuts":                         {4, []answer{sends(5).thenCut(), sends(6).thenCut(), {}}, versions{4, 5, 6}, versions{5, 6}, api.StateReconnecting},
		"two cuts, versions left out":      {4, []answer{sends(5).thenCut(), sends(7).thenCut(), {}}, versions{4, 5, 7}, versions{5, 7}, api.StateReconnecting},
		"two cuts, from far below":         {2, []answer{sends(5).thenCut(), sends(7).thenCut(), {}}, versions{2, 5, 7}, versions{5, 7}, api.StateReconnecting},
		"four cuts": {
			2, []answer{sends(5).thenCut(), sends(6).thenCut(), sends(7).thenCut(), sends(11).thenCut(), {}},
			versions{2, 5, 6, 7, 11}, versions{5, 6, 7, 11}, api.StateReconnecting,
		},
		"four cuts, everything sent again each time": {
			2, []answer{sends(all[:3]...).thenCut(), sends(all[:4]...).thenCut(), sends(all[:5]...).thenCut(), sends(all...).thenCut(), {}},
			versions{2, 5, 6, 7, 11}, versions{5, 6, 7, 11}, api.StateReconnecting,
		},
		"two cuts, two events each and one more": {
			1, []answer{sends(all[:3]...).thenCut(), sends(all[2:5]...).thenCut(), sends(all[4:]...)},
			versions{1, 5, 7}, versions{2, 5, 6, 7, 11}, api.StateLive,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := knowing(t, c.from)
			received, asked := r.watch(c.from), versions(nil)
			for _, a := range c.answers {
				next := r.subscribes(5000)
				require.NotNil(t, next, "subscription %d", len(asked)+1)
				asked = append(asked, next.ResourceVersion)
				r.give(a)
			}
			require.Nil(t, r.subscribes(4900), "no further subscription")
			require.Equal(t, c.asked, asked)
			require.Equal(t, c.received, received())
			require.Equal(t, c.state, r.state())
		})
	}
}

// Without a version, or with version zero, the first response must be a snapshot.
// After a 410, the first response must be a snapshot as well.
func TestWithoutAVersionTheFirstResponseMustBeASnapshot(t *testing.T) {
	for name, start := range map[string]func(*rig){
		"at first": func(*rig) {},
		"after a 410": func(r *rig) {
			r.listed(5, "default/a rv=3")
			r.Receive(&wire.SubscriptionStatus{Status: api.Expired("gone")}, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.Connected(5000)
			require.Zero(t, r.asked().ResourceVersion)
			start(r)
			r.asked()
			objects := r.cacher.State().Len()
			r.described()
			events := &wire.Events{ResourceVersion: 9, Changes: changes(api.Added, "default/b rv=9")}
			require.ErrorIs(t, r.Receive(events, 1), api.Protocol(""))
			require.ErrorIs(t, r.Receive(&wire.Progress{ResourceVersion: 9}, 0), api.Protocol(""))
			require.Equal(t, objects, r.cacher.State().Len(), "no object was applied")
			require.NotEqual(t, api.StateLive, r.state())
		})
	}
}

// The state equals the list with all later changes applied, despite failures in between
// (client-go's ListAndWatchWithErrors).
func TestListAndWatchWithErrors(t *testing.T) {
	r := newRig(t)
	r.Connected(5000)
	have := func(keys ...api.Key) {
		t.Helper()
		require.Equal(t, len(keys), r.cacher.State().Len())
		for _, key := range keys {
			require.NotZero(t, r.cacher.State().Get(key), key)
		}
	}
	change := func(rv api.ResourceVersion, kind api.EventType, object string) {
		t.Helper()
		require.NoError(t, r.Receive(&wire.Events{ResourceVersion: rv, Changes: changes(kind, object)}, 1))
	}
	require.Zero(t, r.asked().ResourceVersion)
	r.listed(1)
	have()
	change(2, api.Added, "default/foo rv=2")
	change(3, api.Added, "default/bar rv=3")
	r.Disconnected(api.Unavailable("done"))
	have("default/foo", "default/bar")
	r.Connected(5000)
	require.EqualValues(t, 3, r.asked().ResourceVersion)
	r.described()
	change(4, api.Deleted, "default/foo rv=4")
	change(5, api.Added, "default/qux rv=5")
	have("default/bar", "default/qux")

	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("the history is gone")}, 0)
	require.Zero(t, r.asked().ResourceVersion)
	r.described()
	require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 5}, 0))
	r.Receive(&wire.SubscriptionStatus{Status: api.Internal("an error while listing")}, 0)
	have("default/bar", "default/qux")
	require.Zero(t, r.subscribes(2000).ResourceVersion, "the list is requested again")
	r.listed(5, "default/bar rv=3", "default/qux rv=5")
	r.Receive(&wire.SubscriptionStatus{Status: api.Internal("an error while watching")}, 0)
	have("default/bar", "default/qux")
	require.EqualValues(t, 5, r.subscribes(4000).ResourceVersion, "the watch is requested again")
	r.described()
	change(6, api.Added, "default/baz rv=6")
	have("default/bar", "default/qux", "default/baz")
	require.NoError(t, r.Receive(&wire.Progress{ResourceVersion: 6}, 0))
	require.Equal(t, api.StateLive, r.state())
}

// The delay doubles with each failure until it reaches a maximum (client-go's
// InitConnBackoff).
func TestBackoffOverManyFailures(t *testing.T) {
	for failures, bounds := range map[int][2]int64{
		5:  {800 * 31, 2 * 800 * 31},
		40: {800*63 + 34*30_000, 2 * (800*63 + 34*30_000)},
	} {
		b := reflector.NewBackoff(lite.NewRand(3))
		now := int64(0)
		for range failures {
			now = b.Next(now)
		}
		require.GreaterOrEqual(t, now, bounds[0])
		require.Less(t, now, bounds[1])
	}
}

// Overload, internal errors, and versions that the connector does not have yet only delay
// the next subscription. The state remains, and the reflector does not relist.
func TestTemporaryErrorKeepsTheStateAndRetries(t *testing.T) {
	for name, c := range map[string]struct {
		status *api.Status
		times  int
	}{
		"TooManyRequests, twice":            {api.TooManyRequests("too many requests", 1), 2},
		"TooManyRequests, four times":       {api.TooManyRequests("too many requests", 1), 4},
		"InternalError, thirty-one times":   {api.Internal("no leader"), 31},
		"InternalError, forty times":        {api.Internal("no leader"), 40},
		"ResourceVersionTooLarge":           {api.TooLargeResourceVersion(20, 10), 3},
		"ResourceVersionTooLarge, in words": {&api.Status{Code: 504, Message: "Too large resource version"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := knowing(t, 20)
			for range c.times {
				require.EqualValues(t, 20, r.subscribes(61_000).ResourceVersion)
				before := r.now
				r.Receive(&wire.SubscriptionStatus{Status: c.status}, 0)
				require.Nil(t, r.subscribes(700), "not at once")
				require.Nil(t, r.subscribes(int64(c.status.RetryAfterSeconds)*1000-(r.now-before)-100), "not before it was asked to")
			}
			require.EqualValues(t, 20, r.subscribes(61_000).ResourceVersion)
			r.give(sends(21))
			require.Equal(t, api.StateLive, r.state())
			require.EqualValues(t, 1, r.Relists)
		})
	}
}

// A relist is not older than the last state. If the relist expires as well, the reflector
// discards it and lists again after a delay (client-go's ResyncWithResourceVersion,
// ExpiredExactResourceVersion and FullListIfExpired).
func TestRelistIsNoOlderThanTheState(t *testing.T) {
	r := newRig(t)
	r.Connected(5000)
	require.Zero(t, r.asked().NotOlderThan)
	r.listed(10, "default/a rv=1")
	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("the version is too old")}, 0)
	again := r.asked()
	require.Zero(t, again.ResourceVersion)
	require.EqualValues(t, 10, again.NotOlderThan)

	r.described()
	require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 11}, 0))
	require.NoError(t, r.Receive(&wire.SnapshotPart{Objects: changes(api.Added, "default/b rv=11")}, 1))
	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("the second part is gone")}, 0)
	require.Equal(t, 1, r.cacher.State().Len(), "an incomplete list is discarded")
	again = r.subscribes(2000)
	require.Zero(t, again.ResourceVersion)
	require.EqualValues(t, 10, again.NotOlderThan)
	r.listed(11, "default/a rv=1", "default/b rv=11")
	require.Equal(t, 2, r.cacher.State().Len())
}

// Events and progress advance the version (client-go's ResourceVersionUpdate).
func TestResourceVersionUpdate(t *testing.T) {
	r := knowing(t, 5)
	r.asked()
	r.give(sends(10, 20))
	at := versions{r.cacher.ResourceVersion()}
	require.NoError(t, r.Receive(&wire.Progress{ResourceVersion: 30}, 0))
	at = append(at, r.cacher.ResourceVersion())
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 40, Changes: changes(api.Deleted, "default/o20 rv=40")}, 1))
	require.Equal(t, versions{20, 30, 40}, append(at, r.cacher.ResourceVersion()))
}

// A snapshot becomes the state at its end mark (client-go's WatchList). If the
// subscription ends before the mark, the next one continues the snapshot or starts over.
// If it ends after the mark, the next one resumes. If the mark does not arrive in time,
// the reflector replaces the subscription.
func TestWatchList(t *testing.T) {
	begun := func(t *testing.T) *rig {
		r := newRig(t)
		r.Connected(5000)
		require.Zero(t, r.asked().ResourceVersion)
		r.described()
		require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 1}, 0))
		require.NoError(t, r.Receive(&wire.SnapshotPart{Objects: changes(api.Added, "default/p1 rv=1", "default/p2 rv=2")}, 1))
		require.False(t, r.cacher.Ready())
		require.Equal(t, api.StateSyncing, r.state())
		return r
	}
	end := func(r *rig, rv api.ResourceVersion) {
		r.t.Helper()
		require.NoError(r.t, r.Receive(&wire.SnapshotEnd{ResourceVersion: rv}, 0))
	}
	t.Run("synced by the mark", func(t *testing.T) {
		r := begun(t)
		end(r, 2)
		require.True(t, r.cacher.Ready())
		require.Equal(t, 2, r.cacher.State().Len())
	})
	t.Run("changes before the mark", func(t *testing.T) {
		r := begun(t)
		for rv, c := range map[api.ResourceVersion][]wire.Change{
			3: changes(api.Modified, "default/p1 rv=3"), 4: changes(api.Added, "default/p3 rv=4"),
		} {
			require.NoError(t, r.Receive(&wire.Events{ResourceVersion: rv, Changes: c}, 1))
		}
		require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 5, Changes: changes(api.Deleted, "default/p3 rv=5")}, 1))
		require.False(t, r.cacher.Ready())
		end(r, 5)
		require.Equal(t, 2, r.cacher.State().Len())
		require.EqualValues(t, 3, r.cacher.Arena().ResourceVersion(r.cacher.State().Get("default/p1")))
	})
	t.Run("too many requests", func(t *testing.T) {
		r := newRig(t)
		r.Connected(5000)
		for range 2 {
			require.Zero(t, r.subscribes(5000).ResourceVersion)
			r.Receive(&wire.SubscriptionStatus{Status: api.TooManyRequests("busy", 1)}, 0)
		}
		require.Zero(t, r.subscribes(5000).ResourceVersion)
		r.listed(2, "default/p1 rv=1")
		require.Equal(t, api.StateLive, r.state())
	})
	t.Run("cut before the mark", func(t *testing.T) {
		r := begun(t)
		r.Disconnected(api.Unavailable("cut"))
		r.Connected(5000)
		require.EqualValues(t, "default/p2\x00", r.asked().SnapshotFrom)
		r.listed(1, "default/p1 rv=1")
		require.Equal(t, 1, r.cacher.State().Len(), "the incomplete state is discarded")
	})
	t.Run("cut before the mark, and continued", func(t *testing.T) {
		r := begun(t)
		r.Disconnected(api.Unavailable("cut"))
		r.Connected(5000)
		require.EqualValues(t, 1, r.asked().ResourceVersion)
		r.described()
		require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 1, Continues: true}, 0))
		require.NoError(t, r.Receive(&wire.SnapshotPart{Objects: changes(api.Added, "default/p3 rv=1")}, 1))
		require.False(t, r.cacher.Ready())
		end(r, 2)
		require.Equal(t, 3, r.cacher.State().Len())
	})
	t.Run("cut after the mark", func(t *testing.T) {
		r := begun(t)
		end(r, 2)
		r.give(sends(3).thenCut())
		require.EqualValues(t, 3, r.asked().ResourceVersion)
		r.give(sends(4))
		require.Equal(t, 4, r.cacher.State().Len())
	})
	t.Run("expired after the mark", func(t *testing.T) {
		r := begun(t)
		end(r, 2)
		r.give(sends(3).thenCut())
		require.EqualValues(t, 3, r.asked().ResourceVersion)
		r.Receive(&wire.SubscriptionStatus{Status: api.Expired("already")}, 0)
		require.Zero(t, r.asked().ResourceVersion)
		require.Equal(t, 3, r.cacher.State().Len(), "until the new state is complete")
	})
	t.Run("the mark does not come", func(t *testing.T) {
		r := begun(t)
		require.Nil(t, r.subscribes(14_900))
		require.EqualValues(t, "default/p2\x00", r.subscribes(100).SnapshotFrom)
	})
}
