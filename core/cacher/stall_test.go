package cacher_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/watcher"
)

// consumer accepts as many deliveries of a watch as it has room for.
type consumer struct {
	*watcher.Watcher
	w           *world
	room        int
	got         []string
	offers      int // deliveries offered, accepted or not
	closed      int
	initialized []int
}

const plenty = 1 << 20

// consume starts a watch with room for the given number of deliveries.
func (w *world) consume(room int, opt cacher.WatchOptions) *consumer {
	w.t.Helper()
	c := &consumer{w: w, room: room}
	opt.Sink = func(d watcher.Delivery) bool {
		c.offers++
		if c.room == 0 {
			return false
		}
		c.room--
		c.got = append(c.got, objects.Delivery(w.Arena(), d))
		w.Arena().Release(d.Content)
		return true
	}
	opt.Closed = func() { c.closed++ }
	opt.Initialized = func(events int) { c.initialized = append(c.initialized, events) }
	c.Watcher = w.start(opt)
	return c
}

// grant makes room and returns the deliveries since the last call.
func (c *consumer) grant(room int) []string {
	c.room += room
	c.Run()
	c.w.Watches().Resume()
	got := c.got
	c.got = nil
	return append([]string{}, got...)
}

func stalling(rv string) cacher.WatchOptions {
	return cacher.WatchOptions{ResourceVersion: rv, Policy: api.PolicyStall}
}

// churn changes an object once for each version of a range, and returns the expected
// events.
func (w *world) churn(name string, from, to int) (events []string) {
	for rv := from; rv <= to; rv++ {
		w.do(fmt.Sprintf("%s rv=%d", name, rv))
		events = append(events, fmt.Sprintf("MODIFIED %s@%d", name, rv))
	}
	return events
}

func small(t *testing.T, capacity int, rv api.ResourceVersion, items ...string) *world {
	w := newWorld(t, history.Limits{MinCapacity: capacity, MaxCapacity: capacity})
	w.list(rv, items...)
	return w
}

func TestB22_StalledWatchContinuesWhereItWas(t *testing.T) {
	w := listed(t, 10, "ns/a rv=10")
	x := w.consume(2, stalling("10"))
	want := w.churn("ns/a", 11, 90)
	assert.Equal(t, want[:2], x.grant(0))
	assert.Equal(t, want[2:5], x.grant(3))
	want = append(want, w.churn("ns/a", 91, 95)...)
	assert.Equal(t, want[5:], x.grant(plenty))
	assert.Equal(t, w.churn("ns/a", 96, 97), x.grant(0), "it is live again")
	assert.Equal(t, watcher.Counts{Stalls: 2}, w.Watches().Counts())
	w.assertNoLeak()
}

// A stalled watch is not offered new events, so its state does not grow with their number.
func TestB23_EventsDoNotTouchAStalledWatch(t *testing.T) {
	w := listed(t, 10, "ns/a rv=10")
	x := w.consume(1, stalling("10"))
	w.churn("ns/a", 11, 13)
	offers := x.offers
	w.churn("ns/a", 14, 90)
	assert.Equal(t, offers, x.offers)
	assert.Equal(t, 1, w.Watches().Stalled())
	w.Watches().Stop(x.Watcher)
	assert.Zero(t, w.Watches().Stalled())
	w.assertNoLeak()
}

func TestB23_StalledWatchDelaysNoOther(t *testing.T) {
	w := listed(t, 10, "ns/a rv=10")
	w.pass(5000) // accrues the budget for slow consumers
	w.consume(0, stalling("10"))
	other := w.consume(plenty, stalling("10"))
	assert.Equal(t, w.churn("ns/a", 11, 90), other.grant(0))
	assert.Zero(t, w.NextTick(), "nothing waits for the clock")
	w.assertNoLeak()
}

// While a watch with PolicyTerminate delays dispatch, a stalling watch that reads
// ahead in the history receives no event twice.
func TestB22_StallingWatchReadsAheadOfAParkedEvent(t *testing.T) {
	w := listed(t, 10, "ns/a rv=10")
	w.pass(5000)
	slow := w.start(since("10"))
	x := w.consume(0, stalling("10"))
	want := w.churn("ns/a", 11, 40)
	require.NotZero(t, w.NextTick(), "an event is parked")
	assert.Equal(t, want, x.grant(plenty))
	want = w.churn("ns/a", 41, 45)
	w.pass(250)
	assert.True(t, slow.Stopped())
	assert.Equal(t, want, x.grant(0))
	w.assertNoLeak()
}

func TestB22_StalledWatchEndsWhenItsNextEventIsEvicted(t *testing.T) {
	w := small(t, 20, 10, "ns/a rv=10")
	x := w.consume(2, stalling("10"))
	want := w.churn("ns/a", 11, 33)
	assert.Equal(t, want[:3], x.grant(1))
	w.churn("ns/a", 34, 34)
	x.grant(0)
	assert.False(t, x.Stopped(), "the history still has its next event")
	w.churn("ns/a", 35, 35)
	assert.False(t, x.Stopped(), "an eviction wakes no watch")
	assert.Equal(t, want[3:4], x.grant(plenty), "queued events are delivered first")
	assert.True(t, x.Finished())
	assert.Equal(t, 1, x.closed)
	assert.Equal(t, api.WatchEndOvertaken, x.Ending().Reason)
	assert.Equal(t, api.WatchEndOvertaken.Expired("the history has moved past the watch, which is at resourceVersion 14: "+
		"the oldest that it can continue from is 15, and 20 events remain; list again and watch from the list's resourceVersion, "+
		"and take events faster or keep a longer history"), x.Status())
	assert.Equal(t, 1, w.Watches().Counts().Overtaken)
	w.assertNoLeak()
}

// A stalled watch waits at its next matching event, so events that it does not match
// cannot overtake it.
func TestB22_StalledWatchIsNotOvertakenByEventsOfOthers(t *testing.T) {
	w := small(t, 20, 10, "ns/a rv=9 app=web", "ns/b rv=10 app=db")
	x := w.consume(1, cacher.WatchOptions{ResourceVersion: "10", Selection: objects.Select("app=web", ""), Policy: api.PolicyStall})
	w.do("ns/a rv=11 app=web", "ns/a rv=12 app=web", "ns/a rv=13 app=web")
	w.churn("ns/b", 14, 20)
	assert.Equal(t, []string{"MODIFIED ns/a@11", "MODIFIED ns/a@12"}, x.grant(1))
	w.churn("ns/b", 21, 100)
	assert.Equal(t, []string{"MODIFIED ns/a@13"}, x.grant(1))
	x.grant(0)
	w.do("ns/a rv=101 app=web")
	w.churn("ns/b", 102, 110)
	w.do("ns/a rv=111 app=db") // stops matching the selector
	w.churn("ns/b", 112, 119)
	assert.Equal(t, []string{"MODIFIED ns/a@101", "DELETED ns/a@111"}, x.grant(2))
	assert.False(t, x.Stopped())
	w.assertNoLeak()
}

func TestB22_StalledWatchSeesTransitionsAndLastStates(t *testing.T) {
	w := listed(t, 10, "ns/a rv=10 app=web phase=Running")
	x := w.consume(0, cacher.WatchOptions{ResourceVersion: "10", Selection: objects.Select("app=web", ""), Policy: api.PolicyStall})
	w.do("ns/a rv=11 app=db", "ns/b rv=12 app=web", "ns/a rv=13 app=web", "-ns/b rv=14", "ns/c rv=15 app=db", "-ns/a rv=16")
	assert.Equal(t, []string{"DELETED ns/a@11", "ADDED ns/b@12", "ADDED ns/a@13", "DELETED ns/b@14", "DELETED ns/a@16"}, x.grant(plenty))
	w.assertNoLeak()
}

func TestB22_StallingWatchStartsWithTheState(t *testing.T) {
	w := small(t, 20, 10, "ns/a rv=8", "ns/b rv=9", "ns/c rv=10")
	x := w.consume(1, cacher.WatchOptions{Bookmarks: true, Policy: api.PolicyStall})
	w.do("ns/b rv=11", "-ns/c rv=12")
	w.pass(70_000)
	assert.Empty(t, x.initialized)
	assert.Equal(t, []string{"ADDED ns/a@8", "ADDED ns/b@9", "ADDED ns/c@10", "BOOKMARK @10 end", "MODIFIED ns/b@11"}, x.grant(4))
	assert.Equal(t, []string{"DELETED ns/c@12"}, x.grant(plenty))
	assert.Equal(t, []int{3}, x.initialized)
	assert.Equal(t, 3, w.Watches().Counts().InitialEvents)
	w.pass(2000)
	assert.Equal(t, []string{"BOOKMARK @12"}, x.grant(0))
	w.assertNoLeak()
}

// A stalled watch gets no bookmark, because a bookmark means that everything
// before it was delivered.
func TestB22_StalledWatchGetsNoBookmark(t *testing.T) {
	w := listed(t, 10, "ns/a rv=10")
	x := w.consume(1, cacher.WatchOptions{ResourceVersion: "10", Bookmarks: true, Policy: api.PolicyStall})
	want := w.churn("ns/a", 11, 15)
	w.pass(200_000)
	assert.Equal(t, want, x.grant(plenty))
	w.pass(70_000)
	assert.Equal(t, []string{"BOOKMARK @15"}, x.grant(0))
	x.room = 0
	w.Progress(16, w.now)
	w.pass(70_000)
	want = append([]string{"BOOKMARK @16"}, w.churn("ns/a", 17, 18)...)
	assert.Equal(t, want, x.grant(plenty), "a waiting watch keeps its position")
	w.assertNoLeak()
}

func TestB22_StallingWatchFromTheFuture(t *testing.T) {
	w := listed(t, 10, "ns/a rv=10")
	x := w.consume(0, stalling("13"))
	w.churn("ns/a", 11, 13)
	want := w.churn("ns/a", 14, 16)
	assert.Equal(t, want, x.grant(plenty))
	w.assertNoLeak()
}

// A relist empties the history. A stalled watch receives its unread events first,
// then the difference.
func TestB22_StalledWatchContinuesAfterARelist(t *testing.T) {
	w := listed(t, 10, "ns/a rv=9", "ns/b rv=10")
	x := w.consume(1, stalling("10"))
	want := w.churn("ns/a", 11, 14)
	w.list(30, "ns/a rv=20", "ns/c rv=25")
	want = append(want, "MODIFIED ns/a@20", "ADDED ns/c@25", "DELETED ns/b@29 unknown")
	want = append(want, w.churn("ns/a", 31, 33)...)
	assert.Equal(t, want[:6], x.grant(5))
	assert.Equal(t, want[6:], x.grant(plenty))
	w.assertNoLeak()
}

func TestB22_StalledWatchEndsWithTheSecondRelist(t *testing.T) {
	for name, policy := range map[string]api.Policy{"stall": api.PolicyStall, "terminate": api.PolicyTerminate} {
		t.Run(name, func(t *testing.T) {
			w := listed(t, 10, "ns/a rv=10")
			x := w.consume(0, cacher.WatchOptions{ResourceVersion: "10", Policy: policy})
			items := []string{"ns/a rv=10"}
			for i := range 30 {
				items = append(items, fmt.Sprintf("ns/%02d rv=%d", i, 11+i))
			}
			w.list(50, items...)
			w.list(51, items...)
			assert.False(t, x.Stopped(), "the watches behave identically")
			w.list(60, append(items, "ns/30 rv=55")...)
			assert.True(t, x.Stopped())
			assert.Equal(t, api.WatchEndOvertaken, x.Ending().Reason)
			require.ErrorContains(t, x.Status(), "was listed twice before the consumer of the watch accepted the changes of the first list")
			w.assertNoLeak()
		})
	}
}

func TestB22_OvertakenWatchEndsWithARelist(t *testing.T) {
	w := small(t, 20, 10, "ns/a rv=10")
	x := w.consume(0, stalling("10"))
	w.churn("ns/a", 11, 40)
	w.list(41, "ns/a rv=40")
	assert.Equal(t, api.WatchEndOvertaken, x.Ending().Reason)
	assert.Equal(t, []string{"MODIFIED ns/a@11"}, x.grant(plenty))
	assert.True(t, x.Finished())
	w.assertNoLeak()
}

// A watch does not end inside a revision (G8), because its consumer may resume after
// that revision and would miss the rest.
func TestB22_DeadlineOfAStalledWatchFallsBetweenRevisions(t *testing.T) {
	revision := []string{"ns/a rv=11", "ns/b rv=11", "ns/c rv=11", "ns/a rv=12"}
	for _, c := range []struct {
		name string
		room int
		want []string
	}{
		{"before it", 0, []string{"ADDED ns/a@11", "ADDED ns/b@11", "ADDED ns/c@11"}}, // the first is already delivered
		{"inside", 2, []string{"ADDED ns/a@11", "ADDED ns/b@11", "ADDED ns/c@11"}},
		{"after it", 3, []string{"ADDED ns/a@11", "ADDED ns/b@11", "ADDED ns/c@11", "MODIFIED ns/a@12"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := listed(t, 10)
			x := w.consume(c.room, cacher.WatchOptions{ResourceVersion: "10", TimeoutSeconds: 5, Policy: api.PolicyStall})
			w.do(revision...)
			w.pass(6000)
			assert.Equal(t, c.want, x.grant(plenty))
			assert.True(t, x.Finished())
			assert.Equal(t, api.WatchEndTimeout, x.Ending().Reason)
			assert.Nil(t, x.Status())
			w.assertNoLeak()
		})
	}
}

// If the rest of a revision was evicted, the watch ends with 410, so that the
// consumer does not resume after the revision.
func TestB22_DeadlineInsideAnEvictedRevisionGives410(t *testing.T) {
	w := small(t, 20, 10, "ns/a rv=10")
	x := w.consume(1, cacher.WatchOptions{ResourceVersion: "10", TimeoutSeconds: 5, Policy: api.PolicyStall})
	for i := range 30 {
		w.do(fmt.Sprintf("ns/%d rv=11", i))
	}
	w.pass(6000)
	assert.Equal(t, api.WatchEndOvertaken, x.Ending().Reason)
	require.Error(t, x.Status())
	assert.Equal(t, []string{"ADDED ns/0@11", "ADDED ns/1@11"}, x.grant(plenty))
	assert.True(t, x.Finished())
	w.assertNoLeak()
}

func TestB24_EveryEndHasAReason(t *testing.T) {
	slow := func(w *world) { w.churn("ns/a", 11, 60) }
	for _, c := range []struct {
		name    string
		opt     cacher.WatchOptions
		happens func(*world)
		want    watcher.Ending
	}{
		{"a slow consumer", since("10"), slow, watcher.Ending{Reason: api.WatchEndSlowConsumer, Input: 10, Output: 10}},
		{"its time", cacher.WatchOptions{ResourceVersion: "10", TimeoutSeconds: 1}, func(w *world) { w.pass(1000) }, watcher.Ending{Reason: api.WatchEndTimeout}},
		{"its time, with events", cacher.WatchOptions{ResourceVersion: "10", TimeoutSeconds: 1}, func(w *world) {
			w.churn("ns/a", 11, 14)
			w.pass(1000)
		}, watcher.Ending{Reason: api.WatchEndTimeout, Output: 4}},
		{"another source", stalling("10"), func(w *world) { w.Upstream().SetClusterID("other") }, watcher.Ending{Reason: api.WatchEndHistoryLost}},
		{"an older state", stalling("10"), func(w *world) { w.list(5) }, watcher.Ending{Reason: api.WatchEndHistoryLost}},
		{"history that is gone", cacher.WatchOptions{ResourceVersion: "10", Policy: api.PolicyStall}, func(w *world) {
			w.churn("ns/a", 11, 300)
			w.open[0].Stop(false)
		}, watcher.Ending{Reason: api.WatchEndClosed, Output: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := listed(t, 10, "ns/a rv=10")
			x := w.consume(0, c.opt)
			c.happens(w)
			assert.True(t, x.Stopped())
			got := x.Ending()
			if c.want.Reason > api.WatchEndTimeout {
				require.ErrorIs(t, got.Status, api.Expired(""))
				assert.Equal(t, c.want.Reason.String(), got.Status.Cause)
				got.Status = nil
			}
			assert.Equal(t, c.want, got)
			x.End(api.WatchEndCorrupt, nil, false)
			assert.Equal(t, c.want.Reason, x.Ending().Reason, "the first reason counts")
			w.assertNoLeak()
		})
	}
}

// The cost of an event does not grow with the number of stalled watches.
func TestB23_EventCostIsIndependentOfStalledWatches(t *testing.T) {
	w := listed(t, 10, "ns/a rv=10")
	var all []*consumer
	for i := range 50 {
		all = append(all, w.consume(0, cacher.WatchOptions{ResourceVersion: "10", Namespace: "ns", Selection: objects.Select("", "metadata.name!="+strconv.Itoa(i)), Policy: api.PolicyStall}))
	}
	w.churn("ns/a", 11, 12)
	before := make([]int, len(all))
	for i, x := range all {
		before[i] = x.offers
	}
	want := w.churn("ns/a", 13, 60)
	for i, x := range all {
		assert.Equal(t, before[i], x.offers)
		got := x.grant(plenty)
		assert.Equal(t, want, got[2:])
	}
	w.assertNoLeak()
}
