package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// slowWatch opens a watch with room for two events and makes changes before the first
// event is read.
func slowWatch(w *world, policy WatchPolicy, changes int) (watch *Watch, first api.ResourceVersion) {
	w.t.Helper()
	c := w.collection()
	watch, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: c.Status().ResourceVersion.String(), Buffer: 2, Policy: policy})
	require.NoError(w.t, err)
	last := w.put("shop/a", "Running")
	first = last
	for range changes - 1 {
		last = w.put("shop/a", "Running")
	}
	w.reach(c, func(s Status) bool { return s.ResourceVersion == last })
	return watch, first
}

// drain reads events until the watch ends, and checks that none is missing.
func drain(w *world, watch *Watch, first api.ResourceVersion) (events int, err error) {
	w.t.Helper()
	for event, err := range watch.Events(w.ctx) {
		if err != nil {
			return events, err
		}
		require.Equal(w.t, first+api.ResourceVersion(events), event.ResourceVersion)
		events++
	}
	return events, nil
}

// counted returns a statistic of the first collection.
func (w *world) counted(name string) int64 {
	w.t.Helper()
	numbers, err := w.client.Inspect(w.ctx)
	require.NoError(w.t, err)
	for _, n := range numbers {
		if n.Name == "collection.1."+name {
			return n.Value
		}
	}
	require.FailNow(w.t, "nothing is counted as "+name)
	return 0
}

func requireEnd(t *testing.T, watch *Watch, want WatchEnd) {
	t.Helper()
	end, ended := watch.End()
	require.True(t, ended)
	require.Equal(t, want, end, "it ended as %v", end)
}

func TestSlowWatchEndsWith410WhereItMayBeTerminated(t *testing.T) {
	w := newWorld(t)
	watch, first := slowWatch(w, Terminate, 500)
	events, err := drain(w, watch, first)
	require.ErrorIs(t, err, api.Expired(""))
	require.ErrorContains(t, err, "too slow")
	require.Less(t, events, 500)
	requireEnd(t, watch, api.WatchEndSlowConsumer)
	require.Equal(t, "SlowConsumer", err.(*api.Status).Cause)
	require.EqualValues(t, 1, w.counted("terminatedWatches"))
}

func TestSlowWatchStallsWithoutLoss(t *testing.T) {
	w := newWorld(t)
	watch, first := slowWatch(w, "", 500)
	for i := range 500 {
		event, err := watch.Next(w.ctx)
		require.NoError(t, err)
		require.Equal(t, first+api.ResourceVersion(i), event.ResourceVersion)
		require.LessOrEqual(t, watch.Buffered(), 2)
	}
	_, ended := watch.End()
	require.False(t, ended)
	last := w.put("shop/b", "Running")
	require.Equal(t, fmt.Sprintf("ADDED shop/b %s", last), w.next(watch), "it is live again")
	require.Positive(t, w.counted("stalls"))
	require.Zero(t, w.counted("stalledWatches"))
	require.Zero(t, w.counted("terminatedWatches"))
	require.Zero(t, w.counted("overtakenWatches"))
}

func TestStalledWatchEndsWith410WhenTheHistoryHasMovedPastIt(t *testing.T) {
	w := newWorld(t)
	w.client = w.open(Config{MaxHistory: 20})
	watch, first := slowWatch(w, Stall, 500)
	events, err := drain(w, watch, first)
	require.ErrorIs(t, err, api.Expired(""))
	require.ErrorContains(t, err, "the history has moved past the watch, which is at resourceVersion "+(first+api.ResourceVersion(events)-1).String())
	require.ErrorContains(t, err, "20 events remain")
	require.Less(t, events, 10)
	requireEnd(t, watch, api.WatchEndOvertaken)
	require.EqualValues(t, 1, w.counted("overtakenWatches"))
}

func TestTimeoutIsAnOrderlyEnd(t *testing.T) {
	w := newWorld(t)
	c := w.collection()
	watch, err := c.Watch(w.ctx, WatchOptions{ResourceVersion: c.Status().ResourceVersion.String(), Timeout: time.Second})
	require.NoError(t, err)
	_, err = drain(w, watch, 0)
	require.NoError(t, err)
	requireEnd(t, watch, api.WatchEndTimeout)
}

func TestWatchEndNamesItsCause(t *testing.T) {
	w := newWorld(t)
	c := w.collection()
	closed, err := c.Watch(w.ctx, WatchOptions{})
	require.NoError(t, err)
	dropped, err := c.Watch(w.ctx, WatchOptions{})
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.NoError(t, c.Close())
	for watch, want := range map[*Watch]WatchEnd{closed: api.WatchEndClosed, dropped: api.WatchEndCollectionClosed} {
		_, err := watch.Next(w.ctx)
		require.ErrorIs(t, err, ErrClosed)
		requireEnd(t, watch, want)
	}
}

func TestUnknownPolicyIsRefused(t *testing.T) {
	w := newWorld(t)
	_, err := w.collection().Watch(w.ctx, WatchOptions{Policy: "drop"})
	require.ErrorIs(t, err, api.Invalid(""))
	require.ErrorContains(t, err, "stall, terminate, conflate")
}
