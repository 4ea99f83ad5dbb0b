package cacher_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/watcher"
)

// fill fills the queues of a watch, so that one more event blocks dispatch.
func (w *world) fill(x *watcher.Watcher) {
	rv := w.ResourceVersion()
	for range 20 {
		rv++
		w.do("ns/fill rv=" + rv.String())
	}
	require.False(w.t, x.Stopped())
}

// T19: dispatch waits for a slow consumer until the budget is used up, and then
// terminates the watch of that consumer. All other consumers receive everything in
// order.
func TestC26_DispatchWaitsForASlowConsumer(t *testing.T) {
	w := listed(t, 10)
	slow, fast := w.start(since("10")), w.start(conflating("10"))
	w.pass(5000)
	w.fill(slow)
	w.do("ns/a rv=31", "ns/b rv=32")
	assert.False(t, slow.Stopped())
	assert.EqualValues(t, w.now+100, w.NextTick(), "C27: the whole budget is used")
	assert.EqualValues(t, 32, w.ResourceVersion(), "H12: the state does not wait")
	got := w.take(fast)
	assert.Equal(t, "ADDED ns/a@31", got[len(got)-1], "the blocking event reaches the other watches")

	w.now += 99
	w.Tick(w.now)
	assert.False(t, slow.Stopped())
	w.now++
	w.Tick(w.now)
	assert.True(t, slow.Stopped())
	assert.Equal(t, 1, w.Watches().Counts().Terminated)
	assert.Equal(t, []string{"ADDED ns/b@32"}, w.take(fast))
	assert.Len(t, w.take(slow), 10, "W9: its output")
	w.assertNoLeak()
}

func TestC26_SlowConsumerThatMakesRoomContinues(t *testing.T) {
	w := listed(t, 10)
	slow := w.start(since("10"))
	w.pass(5000)
	w.fill(slow)
	w.do("ns/a rv=31", "ns/b rv=32")
	w.now += 30
	w.Tick(w.now)
	got := w.take(slow)
	assert.Equal(t, []string{"ADDED ns/a@31", "ADDED ns/b@32"}, append(got, w.take(slow)...)[20:], "nothing is missing")
	assert.False(t, slow.Stopped())
	assert.Zero(t, w.Watches().Counts().Terminated)

	w.fill(slow)
	w.do("ns/c rv=53")
	assert.EqualValues(t, w.now+70, w.NextTick(), "C27: the unused part of the budget was returned")
	w.assertNoLeak()
}

func TestC26_WithoutBudgetSlowConsumerEndsImmediately(t *testing.T) {
	w := listed(t, 10)
	slow := w.start(since("10"))
	w.fill(slow)
	w.do("ns/a rv=31")
	assert.True(t, slow.Stopped())
	w.assertNoLeak()
}

// A full window, which is the normal state of a busy collection, does not use up
// the budget for slow consumers.
func TestC26_FullWindowDoesNotCutTheWaitShort(t *testing.T) {
	w := newWorld(t, history.Limits{MinCapacity: 100, MaxCapacity: 100})
	w.list(10)
	for rv := 11; rv <= 210; rv++ {
		w.now += 1000
		w.do("ns/x rv=" + strconv.Itoa(rv))
	}
	slow := w.start(since("210"))
	w.pass(5000)
	w.fill(slow)
	w.do("ns/a rv=231", "ns/b rv=232", "ns/c rv=233")
	assert.False(t, slow.Stopped())
	w.assertNoLeak()
}

// The number of events behind a blocked event is limited, because the window
// must not evict undispatched events.
func TestC23_TooManyEventsBehindABlockedOneEndTheWait(t *testing.T) {
	for _, capacity := range []int{1, 2, 3, 10, 100, 1000} {
		w := newWorld(t, history.Limits{MinCapacity: capacity, MaxCapacity: capacity})
		w.list(10)
		w.pass(5000)
		slow, fast := w.start(since("10")), w.start(conflating("10"))
		rv := 11
		for ; !slow.Stopped(); rv++ {
			w.do("ns/" + strconv.Itoa(rv) + " rv=" + strconv.Itoa(rv))
		}
		behind := min(100, capacity/2)
		if capacity < 1000 {
			assert.Equal(t, 20+1+behind+1, rv-11, "capacity %d", capacity)
		}
		got := w.take(fast)
		for i, text := range got {
			n := strconv.Itoa(11 + i)
			require.Equal(t, "ADDED ns/"+n+"@"+n, text)
		}
		assert.Len(t, got, rv-11, "capacity %d", capacity)
		w.assertNoLeak()
	}
}

func TestBlockedConsumerThatStopsUnblocksDispatch(t *testing.T) {
	w := listed(t, 10)
	slow, fast := w.start(since("10")), w.start(conflating("10"))
	w.pass(5000)
	w.fill(slow)
	w.do("ns/a rv=31", "ns/b rv=32")
	w.Watches().Stop(slow)
	assert.Zero(t, w.Watches().Counts().Terminated, "the watch was closed by its consumer")
	got := w.take(fast)
	assert.Equal(t, []string{"ADDED ns/a@31", "ADDED ns/b@32"}, got[len(got)-2:])
	w.assertNoLeak()
}

// C19: a watch that starts while dispatch lags behind the state receives each event once,
// either with its initial events or from dispatch.
func TestC19_WatchStartedWhileDispatchIsBehind(t *testing.T) {
	w := listed(t, 10)
	slow := w.start(since("10"))
	w.pass(5000)
	w.fill(slow)
	w.do("ns/a rv=31", "ns/b rv=32", "ns/c rv=33")
	state, past, middle := w.start(withMarks), w.start(since("30")), w.start(since("32"))
	assert.Equal(t, []string{"ADDED ns/a@31", "ADDED ns/b@32", "ADDED ns/c@33", "ADDED ns/fill@30", "BOOKMARK @33 end"}, w.take(state))
	w.take(slow)
	w.do("ns/d rv=34")
	assert.Equal(t, []string{"ADDED ns/d@34"}, w.take(state))
	assert.Equal(t, []string{"ADDED ns/a@31", "ADDED ns/b@32", "ADDED ns/c@33", "ADDED ns/d@34"}, w.take(past))
	assert.Equal(t, []string{"ADDED ns/c@33", "ADDED ns/d@34"}, w.take(middle))
	w.assertNoLeak()
}

// W34: an event that a watch reads from the history is not also queued, because the
// queue would conflate that event with later ones.
func TestW34_ConflatingWatchStartedWhileDispatchIsBehind(t *testing.T) {
	w := listed(t, 10)
	slow := w.start(since("10"))
	w.pass(5000)
	w.fill(slow)
	w.do("ns/a rv=31", "ns/b rv=32")
	x := w.start(conflating("30"))
	w.Watches().Stop(slow)
	for rv := 33; rv < 60; rv++ {
		w.do("ns/a rv=" + strconv.Itoa(rv))
	}
	got := w.take(x)
	assert.Equal(t, []string{"ADDED ns/a@31", "ADDED ns/b@32", "MODIFIED ns/a@33"}, got[:3])
	w.assertNoLeak()
}

// T6, T17: a bookmark is offered at every tick until one is accepted, then every
// minute.
func TestC32_BookmarkTimes(t *testing.T) {
	w := listed(t, 10)
	x := w.start(cacher.WatchOptions{ResourceVersion: "10", Bookmarks: true})
	var times []int64
	for range 3 * 61 * 4 {
		w.pass(250)
		w.Progress(w.ResourceVersion()+1, w.now)
		if got := w.take(x); len(got) > 0 {
			require.Len(t, got, 1, "C33: at most one per tick")
			times = append(times, w.now-start)
		}
	}
	require.Len(t, times, 3)
	assert.InDelta(t, 60_000, times[0], 1500)
	assert.InDelta(t, 60_000, times[1]-times[0], 1500)
	assert.InDelta(t, 60_000, times[2]-times[1], 1500)
	w.assertNoLeak()
}

func TestC32_WatchWithInitialEventsIsOfferedOneAtTheNextTick(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1")
	x := w.start(withMarks)
	assert.Equal(t, []string{"ADDED ns/a@1", "BOOKMARK @10 end"}, w.take(x))
	w.Progress(12, w.now)
	w.pass(1500)
	assert.Equal(t, []string{"BOOKMARK @12"}, w.take(x))
	w.pass(50_000)
	assert.Empty(t, w.take(x))
	w.pass(12_000)
	assert.Equal(t, []string{"BOOKMARK @12"}, w.take(x), "W35: an equal version again")
	w.assertNoLeak()
}

// A collection that is relisted more than once per second still sends bookmarks.
func TestC31_RelistsDoNotRestartTheTicks(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1")
	x := w.start(withMarks)
	assert.Equal(t, []string{"ADDED ns/a@1", "BOOKMARK @10 end"}, w.take(x))
	for rv := api.ResourceVersion(11); rv < 19; rv++ {
		w.pass(500)
		w.list(rv, "ns/a rv=1")
	}
	got := w.take(x)
	require.Len(t, got, 1)
	assert.Regexp(t, "BOOKMARK @1[1-3]$", got[0], "of the first tick after at most 1.25 s")
	w.assertNoLeak()
}

// W35: an ordinary watch gets no bookmark, not even before its deadline, until
// the resource version advances.
func TestW35_NoBookmarkBeforeTheCollectionMoves(t *testing.T) {
	w := listed(t, 10)
	opt := cacher.WatchOptions{ResourceVersion: "10", Bookmarks: true, TimeoutSeconds: 100}
	x := w.start(opt)
	w.pass(101_000)
	assert.Empty(t, w.take(x))
	assert.True(t, x.Finished())

	x = w.start(opt)
	w.Progress(11, w.now)
	w.pass(101_000)
	assert.Equal(t, []string{"BOOKMARK @11", "BOOKMARK @11"}, w.take(x), "C33: due after a minute, and two seconds before the deadline")
	w.assertNoLeak()
}

// A watch that starts at an older version without later matching events gets a
// bookmark at the current version.
func TestW35_BookmarkAtCurrentVersionForAWatchFromAnOlderOne(t *testing.T) {
	w := listed(t, 10)
	w.Progress(15, w.now)
	x := w.start(cacher.WatchOptions{ResourceVersion: "12", Bookmarks: true})
	w.pass(62_000)
	assert.Equal(t, []string{"BOOKMARK @15"}, w.take(x))
}

// T5: the last bookmark comes about two seconds before the deadline.
func TestW19_BookmarkBeforeTheDeadline(t *testing.T) {
	for _, c := range []struct {
		timeout uint32
		want    int64 // zero for never
	}{{10, 8_000}, {20, 18_000}, {1, 0}} {
		w := listed(t, 10)
		x := w.start(cacher.WatchOptions{ResourceVersion: "10", Bookmarks: true, TimeoutSeconds: c.timeout})
		w.Progress(11, w.now)
		at := int64(0)
		for range c.timeout * 4 {
			w.pass(250)
			if len(w.take(x)) > 0 {
				at = w.now - start
			}
		}
		if c.want == 0 {
			assert.Zero(t, at, "W20: %d s", c.timeout)
		} else {
			assert.InDelta(t, c.want, at, 1250, "%d s", c.timeout)
		}
		assert.True(t, x.Finished())
	}
}

func TestW25_BookmarksOnlyOnRequest(t *testing.T) {
	w := listed(t, 10)
	x := w.start(fromState)
	assert.Zero(t, w.NextTick())
	w.Progress(20, w.now)
	w.pass(200_000)
	assert.Empty(t, w.take(x))
}

// C30: a bookmark is delivered after the events that wait for a slow consumer.
func TestC30_BookmarkNeverOvertakesAnEvent(t *testing.T) {
	w := listed(t, 10)
	marked := w.start(cacher.WatchOptions{ResourceVersion: "10", Bookmarks: true, Policy: api.PolicyConflate})
	w.pass(58_000)
	slow := w.start(since("10"))
	w.fill(slow)
	w.take(marked)
	due := w.NextTick()
	w.now = due - 10
	w.do("ns/a rv=31", "ns/b rv=31", "ns/c rv=32")
	w.now = due
	w.Tick(w.now)
	assert.Equal(t, []string{"ADDED ns/a@31"}, w.take(marked))
	assert.Equal(t, due+90, w.NextTick())
	w.now = due + 90
	w.Tick(w.now)
	assert.Equal(t, []string{"ADDED ns/b@31", "ADDED ns/c@32", "BOOKMARK @32"}, w.take(marked))
	w.assertNoLeak()
}

// W36: the end bookmark follows the initial events even if these exceed the capacity
// of the queues.
func TestW36_ManyInitialEvents(t *testing.T) {
	w := newWorld(t, history.Limits{})
	var items, want []string
	for i := range 50 {
		name := "ns/" + strconv.Itoa(100+i)
		items = append(items, name+" rv="+strconv.Itoa(i+1))
		want = append(want, "ADDED "+name+"@"+strconv.Itoa(i+1))
	}
	w.list(600, items...)
	x := w.start(withMarks)
	w.do("ns/new rv=601")
	w.pass(3000)
	want = append(want, "BOOKMARK @600 end", "ADDED ns/new@601", "BOOKMARK @601")
	assert.Equal(t, want, w.take(x), "W18: several ticks queue one bookmark")
	w.assertNoLeak()
}

func TestT15_ClosedWatchesHoldNoMemory(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1")
	for i := range 100 {
		opt := []cacher.WatchOptions{fromState, withMarks, since("10"), conflating("10")}[i%4]
		x := w.start(opt)
		w.do("ns/a rv=" + strconv.Itoa(11+i))
		if i%3 == 0 {
			w.Watches().Stop(x)
		}
	}
	assert.Equal(t, api.ResourceVersion(110), w.ResourceVersion())
	w.assertNoLeak()
}
