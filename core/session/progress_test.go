package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// reports contains the versions that a message reports for a subscription.
type reports struct {
	progress []api.ResourceVersion
	moved    []api.ResourceVersion // versions of Events frames without changes
	changes  []api.ResourceVersion
}

func parseReports(t *testing.T, message []byte) (h reports) {
	for len(message) > 0 {
		kind, payload, rest, err := wire.Next(message)
		require.NoError(t, err)
		switch kind {
		case wire.TypeProgress:
			var f wire.Progress
			require.NoError(t, f.Parse(payload))
			h.progress = append(h.progress, f.ResourceVersion)
		case wire.TypeEvents:
			var f wire.Events
			require.NoError(t, f.Parse(payload))
			if len(f.Changes) == 0 {
				h.moved = append(h.moved, f.ResourceVersion)
			} else {
				h.changes = append(h.changes, f.ResourceVersion)
			}
		}
		message = rest
	}
	return h
}

// follower returns a session whose reader has the state of version 1.
func follower(t *testing.T, w *world, labels string) *session.Session {
	w.cacher = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods(), History: history.Limits{MinCapacity: 1000, MaxCapacity: 1000}}))
	w.cacher.Listing().Begin()
	w.cacher.Listing().End(1, w.now)
	s := session.New(session.Config{ProgressMillis: 5000}, w)
	hello := (&wire.Hello{Version: wire.Version}).Append(nil)
	f := wire.Subscribe{Subscription: 1, Resource: "v1/pods", LabelSelector: labels, Credit: 1 << 30}
	require.NoError(t, s.Receive(f.Append(hello), w.now))
	for s.Next(1<<20, w.now) != nil {
	}
	return s
}

// Changes are not progress, because they may arrive late. They still advance the version
// of a reader. If no change matches, the version advances once per period.
func TestChangesWithoutProgressOnlyMoveTheVersion(t *testing.T) {
	for _, labels := range []string{"app=web", "app=other"} {
		w := newWorld(t, 1)
		s := follower(t, w, labels)
		var got reports
		const seconds = 60
		for rv := api.ResourceVersion(2); rv < 2+seconds; rv++ {
			w.now += 1000
			w.cacher.Apply(objects.Update(fmt.Sprintf("ns/a rv=%d app=web", rv)), w.now)
			h := parseReports(t, s.Next(1<<20, w.now))
			got = reports{append(got.progress, h.progress...), append(got.moved, h.moved...), append(got.changes, h.changes...)}
		}
		require.Empty(t, got.progress)
		if labels == "app=web" {
			require.Len(t, got.changes, seconds)
			require.Empty(t, got.moved)
		} else {
			require.InDelta(t, seconds/5, len(got.moved), 1)
		}
		w.cacher.Progress(1+seconds, w.now)
		require.Equal(t, reports{progress: []api.ResourceVersion{1 + seconds}}, parseReports(t, s.Next(1<<20, w.now)))
	}
}

// Changes that do not match the selectors wake a reader at most once per period, even if
// the source never reports progress.
func TestUnmatchedChangesWakeAReaderOncePerPeriod(t *testing.T) {
	w := newWorld(t, 1)
	s := follower(t, w, "app=other")
	woken := 0
	var moved []api.ResourceVersion
	for rv := api.ResourceVersion(2); rv < 602; rv++ { // a minute
		w.now += 100
		w.woken = false
		w.cacher.Apply(objects.Update(fmt.Sprintf("ns/a rv=%d app=web", rv)), w.now)
		at := s.Wake()
		if due := at > 0 && at <= w.now; !w.woken && !due {
			continue
		}
		woken++
		moved = append(moved, parseReports(t, s.Next(1<<20, w.now)).moved...)
	}
	require.LessOrEqual(t, woken, 2*60/5)
	require.InDelta(t, 60/5, len(moved), 1, "the version advances anyway")

	w.woken = false
	w.cacher.Progress(601, w.now)
	require.True(t, w.woken)
	require.Equal(t, []api.ResourceVersion{601}, parseReports(t, s.Next(1<<20, w.now)).progress)
}

// A reader that is always some seconds behind receives progress whenever it reaches
// the version that the source last confirmed.
func TestProgressOfAReaderThatIsAlwaysBehind(t *testing.T) {
	w := newWorld(t, 1)
	s := follower(t, w, "")
	const behind = 4 // seconds
	last, rv := w.now, api.ResourceVersion(1)
	for second := range 120 {
		w.now += 1000
		rv++
		w.cacher.Apply(objects.Update(fmt.Sprintf("ns/a rv=%d app=web", rv)), w.now)
		if second%3 == 0 {
			w.cacher.Progress(rv, w.now)
		}
		if second < behind {
			continue
		}
		h := parseReports(t, s.Next(1, w.now))
		require.Equal(t, []api.ResourceVersion{rv - behind}, h.changes, "one a second")
		for _, reported := range h.progress {
			require.Equal(t, rv-behind, reported)
			last = w.now
		}
		require.Less(t, w.now-last, int64(3*5000), "its data must not become stale")
	}
}
