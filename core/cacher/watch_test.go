package cacher_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/watcher"
)

// A consumer that reads the store when it gets an event finds the version of the
// event, or a later one.
func TestH12_StoreIsNeverBehindAWatch(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1")
	seen := 0
	opt := since("10")
	opt.Sink = func(d watcher.Delivery) bool {
		seen++
		held := w.State().Get("ns/a")
		if d.Type == api.Deleted {
			assert.Zero(t, held, "the store has an object that the watch has seen deleted")
		} else {
			assert.Equal(t, d.ResourceVersion, w.Arena().ResourceVersion(held))
		}
		w.Arena().Release(d.Content)
		return true
	}
	w.start(opt)
	w.do("ns/a rv=11", "ns/a rv=12", "-ns/a rv=13", "ns/a rv=14")
	assert.Equal(t, 4, seen)
	w.assertNoLeak()
}

func TestC11_WatchRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		opt  cacher.WatchOptions
		code int
	}{
		{"C8 a version that is no number", since("x"), 400},
		{"C8 a negative version", since("-1"), 400},
		{"C11 sendInitialEvents without match", cacher.WatchOptions{SendInitialEvents: api.True}, 422},
		{"C11 sendInitialEvents=false without match", cacher.WatchOptions{SendInitialEvents: api.False}, 422},
		{"C11 sendInitialEvents with Exact", cacher.WatchOptions{SendInitialEvents: api.True, Match: api.MatchExact, ResourceVersion: "5"}, 422},
		{"C11 match without sendInitialEvents", cacher.WatchOptions{Match: api.MatchNotOlderThan, ResourceVersion: "5"}, 422},
		{"C11 Exact without sendInitialEvents", cacher.WatchOptions{Match: api.MatchExact, ResourceVersion: "5"}, 422},
		{"an unknown field", cacher.WatchOptions{Selection: objects.Select("", "spec.x=1")}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := listed(t, 10)
			status := w.Watch(c.opt, func(*watcher.Watcher, *api.Status) { t.Error("started") })
			require.NotNil(t, status)
			assert.Equal(t, c.code, status.Code)
		})
	}
}

// T18, T25: a watch receives the initial events that its options select. If it requests
// bookmarks, one bookmark marks the end of the initial state, but not of a history. The
// collection was listed at 100 and has changes up to 105.
func TestC14_Start(t *testing.T) {
	const no, yes, unset = api.False, api.True, api.Unset
	state := []string{"ADDED ns/a@105", "ADDED ns/b@50", "ADDED ns/d@104"}
	for _, c := range []struct {
		name  string
		rv    string
		send  api.Tristate
		marks bool
		want  []string
	}{
		{"C10 unset: state, as a list would be", "", unset, false, state},
		{"C10 unset with bookmarks: state and its end", "", unset, true, append(state[:3:3], "BOOKMARK @105 end")},
		{"C10 0: state", "0", unset, false, state},
		{"C10 0 with bookmarks: state and its end", "0", unset, true, append(state[:3:3], "BOOKMARK @105 end")},
		{"C14 send, unset: state", "", yes, false, state},
		{"C15 send, unset, bookmarks: ends at the newest", "", yes, true, append(state[:3:3], "BOOKMARK @105 end")},
		{"C15 send, 0, bookmarks: ends at the newest", "0", yes, true, append(state[:3:3], "BOOKMARK @105 end")},
		{"C15 send, old, bookmarks: ends at the newest", "3", yes, true, append(state[:3:3], "BOOKMARK @105 end")},
		{"C16 send, old, no bookmarks: no end", "3", yes, false, state},
		{"C14 send, newest", "105", yes, true, append(state[:3:3], "BOOKMARK @105 end")},
		{"C14 do not send, unset: from now", "", no, true, []string{}},
		{"C14 do not send, 0: from now", "0", no, false, []string{}},
		{"C14 do not send, version: history", "103", no, false, []string{"ADDED ns/d@104", "MODIFIED ns/a@105"}},
		{"C14 version: history", "103", unset, true, []string{"ADDED ns/d@104", "MODIFIED ns/a@105"}},
		{"H8 the oldest", "100", unset, false, []string{"MODIFIED ns/a@101", "ADDED ns/c@102", "DELETED ns/c@103", "ADDED ns/d@104", "MODIFIED ns/a@105"}},
		{"H9 the newest", "105", unset, false, []string{}},
		{"H9 the future", "106", unset, false, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := listed(t, 100, "ns/b rv=50", "ns/a rv=60")
			w.do("ns/a rv=101", "ns/c rv=102", "-ns/c rv=103", "ns/d rv=104", "ns/a rv=105")
			opt := cacher.WatchOptions{ResourceVersion: c.rv, SendInitialEvents: c.send, Bookmarks: c.marks}
			if c.send != unset {
				opt.Match = api.MatchNotOlderThan
			}
			x := w.start(opt)
			assert.Equal(t, c.want, w.take(x))
			w.do("ns/b rv=106", "-ns/a rv=107")
			live := []string{"MODIFIED ns/b@106", "DELETED ns/a@107"}
			if c.rv == "106" {
				live = live[1:]
			}
			assert.Equal(t, live, w.take(x), "C19: later events follow")
			w.assertNoLeak()
		})
	}
}

func TestH8_WatchFromTooFarBack(t *testing.T) {
	w := listed(t, 100)
	for _, rv := range []string{"1", "99"} {
		x, status := w.tryStart(since(rv))
		assert.Nil(t, x)
		assert.Equal(t, api.Expired("too old resource version: "+rv+" (100)"), status, "C8: the only event of the stream")
	}
}

func TestC13_InitialEventsWaitForTheirVersion(t *testing.T) {
	w := listed(t, 10)
	var x *watcher.Watcher
	require.Nil(t, w.Watch(cacher.WatchOptions{
		ResourceVersion: "12", SendInitialEvents: api.True, Match: api.MatchNotOlderThan, Bookmarks: true,
	}, func(started *watcher.Watcher, status *api.Status) {
		require.Nil(t, status)
		x = started
	}))
	w.do("ns/a rv=11")
	require.Nil(t, x)
	w.do("ns/b rv=13")
	require.NotNil(t, x)
	w.open = append(w.open, x)
	assert.Equal(t, []string{"ADDED ns/a@11", "ADDED ns/b@13", "BOOKMARK @13 end"}, w.take(x), "the event that woke it is not repeated")
	w.do("ns/c rv=14")
	assert.Equal(t, []string{"ADDED ns/c@14"}, w.take(x))
	w.assertNoLeak()
}

func TestC34_WatchThatWaitsTooLongGets504(t *testing.T) {
	w := listed(t, 10)
	var got *api.Status
	require.Nil(t, w.Watch(cacher.WatchOptions{
		ResourceVersion: "12", SendInitialEvents: api.True, Match: api.MatchNotOlderThan,
	}, func(x *watcher.Watcher, status *api.Status) { got = status }))
	w.pass(3000)
	assert.Equal(t, api.TooLargeResourceVersion(12, 10), got)
}

// C6: a watch that is opened before the first list waits for that list.
func TestC6_WatchBeforeTheFirstList(t *testing.T) {
	w := newWorld(t, history.Limits{})
	var all []*watcher.Watcher
	for _, opt := range []cacher.WatchOptions{withMarks, since("7"), since("5")} {
		require.Nil(t, w.Watch(opt, func(x *watcher.Watcher, status *api.Status) { all = append(all, x) }))
	}
	w.pass(60_000)
	assert.Empty(t, all)
	w.list(7, "ns/a rv=3")
	require.Len(t, all, 3)
	assert.Equal(t, []string{"ADDED ns/a@3", "BOOKMARK @7 end"}, w.take(all[0]))
	assert.Empty(t, w.take(all[1]))
	assert.Nil(t, all[2], "too old")
	w.open = all[:2]
	w.assertNoLeak()
}

func TestWatchFilters(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1 app=web", "ns/b rv=2 app=db", "other/a rv=3 app=web", "nsx/a rv=4 app=web")
	x := w.start(cacher.WatchOptions{Namespace: "ns", Selection: objects.Select("app=web", "status.phase!=Failed")})
	assert.Equal(t, []string{"ADDED ns/a@1"}, w.take(x))
	w.do("ns/b rv=11 app=web", "other/a rv=12 app=web", "ns/a rv=13 app=web phase=Failed", "nsx/a rv=14 app=web")
	assert.Equal(t, []string{"ADDED ns/b@11", "DELETED ns/a@13"}, w.take(x))
	w.assertNoLeak()
}

func TestP9_TimeoutEndsTheWatch(t *testing.T) {
	w := listed(t, 10)
	x := w.start(cacher.WatchOptions{ResourceVersion: "10", TimeoutSeconds: 5})
	assert.EqualValues(t, start+5000, w.NextTick())
	w.pass(4999)
	w.do("ns/a rv=11")
	assert.False(t, x.Stopped())
	w.pass(1)
	assert.Equal(t, []string{"ADDED ns/a@11"}, w.take(x), "W9")
	assert.True(t, x.Finished())
	assert.Zero(t, w.Watches().Len())
	assert.Zero(t, w.NextTick())
	w.assertNoLeak()
}

// H16, T32: the queue size depends on the capacity of the window and its time
// span, for a resource without an index.
func TestH16_QueueSize(t *testing.T) {
	for limits, size := range map[history.Limits]int{
		{MinCapacity: 100}: 10, {MinCapacity: 750}: 10, {MinCapacity: 751}: 11, {MinCapacity: 1500}: 20,
		{MinCapacity: 7500}: 100, {MinCapacity: 75_000}: 100,
		{MinCapacity: 7500, WindowMillis: 150_000}: 50, {MinCapacity: 75_000, WindowMillis: 150_000}: 100,
	} {
		w := newWorld(t, limits)
		w.list(1)
		x := w.start(since("1"))
		n := 0
		for rv := api.ResourceVersion(2); !x.Stopped(); rv++ {
			n++
			w.do("ns/a rv=" + rv.String())
		}
		assert.Equal(t, 2*size+1, n, "%+v: two full queues and one event", limits)
	}
}

func TestStopWatchReleasesEverything(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1", "ns/b rv=2")
	x := w.start(fromState)
	w.do("ns/a rv=11", "-ns/b rv=12")
	w.Watches().Stop(x)
	w.Watches().Stop(x)
	assert.True(t, x.Finished())
	w.assertNoLeak()
}

func gone(text string) *api.Status { return api.WatchEndHistoryLost.Expired(text) }

// A watch that starts at a future version waits for that version. If the source still
// confirms an older version after three seconds, the watch ends with 410, because its
// version belongs to a lost history.
func TestH9_WatchFromALostVersionEndsWith410(t *testing.T) {
	w := listed(t, 23, "ns/a rv=20")
	x := w.start(since("71"))
	w.pass(1000)
	w.Progress(24, w.now)
	assert.False(t, x.Finished(), "the source may lag briefly")
	assert.False(t, w.Waits().Any())
	assert.EqualValues(t, start+3000, w.NextTick())
	w.pass(2000)
	assert.False(t, x.Finished(), "the passage of time alone proves nothing: the source may be disconnected")
	assert.True(t, w.Waits().Any(), "progress is requested from the source")
	w.do("ns/a rv=30")
	assert.False(t, x.Finished(), "changes may come late")
	w.Progress(30, w.now)
	assert.True(t, x.Finished())
	assert.Equal(t, gone("resource version 71 is beyond the newest, 30; the source has lost the history it belongs to, list again"), x.Status())
	assert.False(t, w.Waits().Any())
	w.assertNoLeak()
}

func TestWatchFromAFutureVersionContinuesWhenItIsReached(t *testing.T) {
	w := listed(t, 23, "ns/a rv=20")
	slow, soon := w.start(since("26")), w.start(since("24"))
	w.Progress(25, w.now)
	w.pass(5000)
	assert.True(t, w.Waits().Any())
	w.do("ns/a rv=26")
	assert.False(t, w.Waits().Any(), "no wait remains")
	w.pass(5000)
	w.Progress(26, w.now)
	w.do("ns/a rv=27")
	assert.Equal(t, []string{"MODIFIED ns/a@26", "MODIFIED ns/a@27"}, w.take(soon))
	assert.Equal(t, []string{"MODIFIED ns/a@27"}, w.take(slow), "H9: delivered events are not repeated")
	assert.Nil(t, soon.Status())
	assert.Nil(t, slow.Status())
	assert.False(t, w.Waits().Any())
	w.assertNoLeak()
}

func TestStoppedWatchFromALostVersionIsForgotten(t *testing.T) {
	w := listed(t, 23)
	w.Watches().Stop(w.start(since("71")))
	w.pass(3000)
	assert.False(t, w.Waits().Any())
	w.assertNoLeak()
}
