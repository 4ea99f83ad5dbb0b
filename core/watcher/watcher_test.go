package watcher_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/watcher"
)

func TestW1_QueuesAreBounded(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{QueueSize: 3})
	admitted := 0
	for i := range 20 {
		if w.TryAdd(f.do("ns/" + strconv.Itoa(i))) {
			admitted++
		}
		w.Run()
	}
	assert.Equal(t, 6, admitted, "three in each queue")
	assert.Len(t, f.take(w), 6)
	assert.True(t, w.TryAdd(f.do("ns/x")), "W10: the queue has room again")
	w.Discard()
	f.assertNoLeak()
}

// Events that the filter excludes do not fill the queue of a consumer.
func TestW10_EventsOutsideTheFilterNeedNoRoom(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{QueueSize: 1, Filter: f.filter("", "app=web", ""), Watermark: 3})
	for range 5 {
		require.True(t, w.TryAdd(f.do("ns/a app=db")))
	}
	require.True(t, w.TryAdd(f.do("ns/b app=web rv=3")), "at the watermark")
	assert.Zero(t, w.Queued())
	require.True(t, w.TryAdd(f.do("ns/a app=web")))
	require.True(t, w.TryAdd(f.do("-ns/b rv=3")))
	assert.False(t, w.TryAdd(f.do("ns/a app=db")), "a deletion to the consumer")
	w.Discard()
	f.assertNoLeak()
}

func TestW3_StopsAreHarmlessInAnyOrder(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{})
	w.TryAdd(f.do("ns/a"))
	for _, drain := range []bool{true, false, true, false} {
		w.Stop(drain)
		w.Terminate()
		w.Run()
	}
	assert.True(t, w.Stopped())
	assert.True(t, w.Finished())
	assert.True(t, w.TryAdd(f.do("ns/b")), "a stopped watch swallows events")
	assert.False(t, w.AddBookmark(9))
	w.Discard()
	w.Discard()
	f.assertNoLeak()
}

func TestW4_StopWithoutDrainDropsTheInput(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{QueueSize: 2, Initial: f.snapshot()})
	for i := range 4 {
		w.TryAdd(f.do("ns/" + strconv.Itoa(i)))
		w.Run()
	}
	w.Stop(false)
	assert.Equal(t, []string{"ADDED ns/0@2", "ADDED ns/1@3"}, f.take(w), "W9: the output is still delivered")
	assert.True(t, w.Finished())
	f.assertNoLeak()
}

func TestT13_NoEventIsAdmittedAfterTheEnd(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{})
	require.True(t, w.TryAdd(f.do("ns/a")))
	w.Stop(true)
	assert.True(t, w.TryAdd(f.do("ns/b")), "a watch that drains needs no room for what it drops")
	w.AddDifference(f.do("ns/c"))
	assert.False(t, w.AddBookmark(f.rv))
	assert.Equal(t, []string{"ADDED ns/a@2"}, f.take(w))
	assert.True(t, w.Finished())
	f.assertNoLeak()
}

func TestW5_StopCutsADrainShort(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{QueueSize: 1})
	w.TryAdd(f.do("ns/a"))
	w.Run()
	w.TryAdd(f.do("ns/b"))
	w.Stop(true)
	w.Run()
	assert.False(t, w.Finished(), "T1: the output is full and not read")
	w.Stop(false)
	assert.Equal(t, []string{"ADDED ns/a@2"}, f.take(w))
	assert.True(t, w.Finished())
	f.assertNoLeak()
}

// A watch calls Closed once, regardless of how it ends and which methods are called
// afterwards. Only events that are already in the output queue may follow.
func TestW7_EndIsReportedOnce(t *testing.T) {
	for name, end := range map[string]func(*feed, *watcher.Watcher){
		"stopped":                         func(_ *feed, w *watcher.Watcher) { w.Stop(false) },
		"drained":                         func(_ *feed, w *watcher.Watcher) { w.Stop(true) },
		"drained, then stopped":           func(_ *feed, w *watcher.Watcher) { w.Stop(true); w.Stop(false) },
		"terminated":                      func(_ *feed, w *watcher.Watcher) { w.Terminate() },
		"discarded":                       func(_ *feed, w *watcher.Watcher) { w.Discard() },
		"stopped, run, and stopped again": func(_ *feed, w *watcher.Watcher) { w.Stop(false); w.Run(); w.Stop(true) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed(t, 100)
			var events []string
			room := 2
			w := f.watch(watcher.Options{
				QueueSize: 2,
				Sink: func(d watcher.Delivery) bool {
					if room == 0 {
						return false
					}
					room--
					events = append(events, "event")
					f.arena.Release(d.Content)
					return true
				},
				Closed: func() { events = append(events, "end") },
			})
			w.Run()
			for i := range 5 {
				w.TryAdd(f.do("ns/" + strconv.Itoa(i)))
				w.Run()
			}
			assert.NotContains(t, events, "end")
			end(f, w)
			room = 100
			w.Run()
			assert.Equal(t, 1, f.closed[w])
			assert.LessOrEqual(t, len(events)-slices.Index(events, "end")-1, 2, "only the output follows: %v", events)
			w.Run()
			w.Stop(false)
			w.Stop(true)
			w.Terminate()
			w.Run()
			w.Discard()
			w.Discard()
			assert.Equal(t, 1, f.closed[w])
			f.assertNoLeak()
		})
	}
}

// Initialized is called once, after the initial events and the end bookmark and
// before live events.
func TestW39_InitializationIsReportedOnce(t *testing.T) {
	for _, policy := range []api.Policy{api.PolicyTerminate, api.PolicyStall} {
		f := newFeed(t, 100)
		f.do("ns/a")
		f.do("ns/b")
		var events []string
		w := f.watch(watcher.Options{
			Policy: policy, Initial: f.snapshot(), Cursor: history.NewCursor(f.window), EndBookmark: 3, BookmarkAfter: 3,
			Sink: func(d watcher.Delivery) bool {
				events = append(events, d.Type.String())
				f.arena.Release(d.Content)
				return true
			},
			Initialized: func(n int) { events = append(events, "initialized "+strconv.Itoa(n)) },
		})
		w.Run()
		if e := f.do("ns/c"); policy == api.PolicyStall {
			w.Follow(e, f.window.End()-1)
		} else {
			w.TryAdd(e)
		}
		w.Run()
		assert.Equal(t, []string{"ADDED", "ADDED", "BOOKMARK", "initialized 2", "ADDED"}, events)
		w.Discard()
		f.assertNoLeak()
	}
}

func TestW8_LoopEndsWhenInputIsClosedAndEmpty(t *testing.T) {
	f := newFeed(t, 100)
	f.do("ns/a")
	w := f.watch(watcher.Options{QueueSize: 1, Initial: f.snapshot(), EndBookmark: 2, BookmarkAfter: 2})
	w.TryAdd(f.do("ns/b"))
	w.Stop(true)
	assert.Equal(t, []string{"ADDED ns/a@2", "BOOKMARK @2 end", "ADDED ns/b@3"}, f.take(w))
	assert.True(t, w.Finished())
}

// A slow watch that is terminated delivers its queue only if the end bookmark is queued
// (T7).
func TestW13_Terminate(t *testing.T) {
	fill := func(f *feed, w *watcher.Watcher) {
		for i := range 3 {
			require.True(t, w.TryAdd(f.do("ns/"+strconv.Itoa(i))))
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(*feed, *watcher.Watcher)
		state   string
		want    []string
	}{
		{"W14 received: everything queued is delivered, the bookmark too", func(f *feed, w *watcher.Watcher) {
			fill(f, w)
			require.True(t, w.AddBookmark(10))
		}, "received", []string{"ADDED ns/0@2", "ADDED ns/1@3", "ADDED ns/2@4", "BOOKMARK @10 end"}},
		{"W13 waiting: at once", fill, "waiting", []string{}},
		{"W13 waiting, after a bookmark that came too early", func(f *feed, w *watcher.Watcher) {
			fill(f, w)
			require.False(t, w.AddBookmark(9))
		}, "waiting", []string{}},
		{"W13 sent: at once", func(f *feed, w *watcher.Watcher) {
			require.True(t, w.AddBookmark(10))
			require.Equal(t, []string{"BOOKMARK @10 end"}, f.take(w))
			fill(f, w)
			require.True(t, w.AddBookmark(11))
		}, "sent", []string{}},
		{"W5 received, and then stopped by the consumer", func(f *feed, w *watcher.Watcher) {
			fill(f, w)
			require.True(t, w.AddBookmark(10))
			w.Terminate()
			w.Stop(false)
		}, "received", []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(t, 100)
			w := f.watch(watcher.Options{BookmarkAfter: 10})
			c.prepare(f, w)
			assert.Equal(t, c.state, w.State())
			w.Terminate()
			assert.Equal(t, c.want, f.take(w))
			assert.True(t, w.Finished())
			f.assertNoLeak()
		})
	}
}

func TestW33_OvertakenIntervalEndsTheWatch(t *testing.T) {
	f := newFeed(t, 102)
	for i := range 102 {
		f.do("ns/" + strconv.Itoa(i))
	}
	w := f.watch(watcher.Options{QueueSize: 2, Initial: f.since(1)})
	inTime := f.watch(watcher.Options{QueueSize: 200, Initial: f.since(1)})
	w.Run() // reads a hundred events
	inTime.Run()
	for range 101 { // until the next unread event is evicted
		f.do("ns/x")
	}
	events := f.take(w)
	assert.Len(t, events, 100, "H17: what was read is delivered")
	assert.Equal(t, "ADDED ns/99@101", events[99])
	assert.True(t, w.Finished(), "and no ERROR follows")
	assert.Len(t, f.take(inTime), 102)
	assert.False(t, inTime.Finished())
	inTime.Discard()
	f.assertNoLeak()
}

// Live events up to the watermark are not delivered, because the initial events already
// include them (T4).
func TestW34_Watermark(t *testing.T) {
	for _, c := range []struct {
		name string
		opt  func(*feed) watcher.Options
		want []string
	}{
		{"W34 the requested version", func(*feed) watcher.Options {
			return watcher.Options{Watermark: 5}
		}, []string{"MODIFIED ns/c@6", "MODIFIED ns/a@7"}},
		{"H9 a version from the future", func(*feed) watcher.Options {
			return watcher.Options{Watermark: 6}
		}, []string{"MODIFIED ns/a@7"}},
		{"W34 raised by a state", func(f *feed) watcher.Options {
			return watcher.Options{Initial: f.snapshot()}
		}, []string{"ADDED ns/a@2", "ADDED ns/b@3", "ADDED ns/c@4", "MODIFIED ns/a@5", "MODIFIED ns/c@6", "MODIFIED ns/a@7"}},
		{"W34 raised by history", func(f *feed) watcher.Options {
			return watcher.Options{Initial: f.since(3), Watermark: 3}
		}, []string{"ADDED ns/c@4", "MODIFIED ns/a@5", "MODIFIED ns/c@6", "MODIFIED ns/a@7"}},
		{"W34 raised by filtered-out events", func(f *feed) watcher.Options {
			return watcher.Options{Initial: f.since(2), Watermark: 2, Filter: f.filter("", "", "metadata.name=b")}
		}, []string{"ADDED ns/b@3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(t, 100)
			events := []history.Event{*f.do("ns/a"), *f.do("ns/b"), *f.do("ns/c")}
			w := f.watch(c.opt(f))
			events = append(events, *f.do("ns/a"), *f.do("ns/c"), *f.do("ns/a"))
			for i := range events {
				require.True(t, w.TryAdd(&events[i]), "as if dispatch were behind")
			}
			assert.Equal(t, c.want, f.take(w))
			w.Discard()
			f.assertNoLeak()
		})
	}
}

// Live events do not raise the watermark, because a transaction gives several
// events the same version.
func TestW35_EventsOfOneRevision(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{Watermark: 1})
	w.TryAdd(f.do("ns/a rv=5"))
	w.Run()
	w.TryAdd(f.do("ns/b rv=5"))
	assert.Equal(t, []string{"ADDED ns/a@5", "ADDED ns/b@5"}, f.take(w))
}

func TestW38_EventsKeepTheOrderOfTheQueue(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{Bookmarks: true})
	w.TryAdd(f.do("ns/a rv=5"))
	w.AddBookmark(5)
	w.TryAdd(f.do("ns/b rv=6"))
	w.AddBookmark(8)
	w.AddBookmark(8)
	w.TryAdd(f.do("-ns/a rv=9"))
	assert.Equal(t, []string{
		"ADDED ns/a@5", "BOOKMARK @5", "ADDED ns/b@6", "BOOKMARK @8", "BOOKMARK @8", "DELETED ns/a@9",
	}, f.take(w))
}

func TestW40_StateComesInKeyOrderAsAdded(t *testing.T) {
	f := newFeed(t, 100)
	f.do("ns/b rv=2 app=web")
	f.do("ns/a rv=3 app=web")
	f.do("ns/c rv=4 app=db")
	f.do("ns/b rv=5 app=web")
	w := f.watch(watcher.Options{QueueSize: 1, Filter: f.filter("", "app=web", ""), Initial: f.snapshot()})
	assert.Equal(t, []string{"ADDED ns/a@3", "ADDED ns/b@5"}, f.take(w))
	assert.Empty(t, f.take(w), "H18")
	f.assertNoLeak()
}

func TestDeliveryCarriesFlags(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{})
	w.TryAdd(f.do("ns/a immutable"))
	e := *f.do("-ns/a")
	e.FinalStateUnknown = true
	w.TryAdd(&e)
	w.Run()
	d, _ := w.Take()
	assert.Equal(t, api.Immutable, d.Flags)
	f.arena.Release(d.Content)
	d, _ = w.Take()
	assert.Equal(t, api.Immutable|api.FinalStateUnknown, d.Flags)
	assert.EqualValues(t, 3, d.ResourceVersion)
	f.arena.Release(d.Content)
	f.assertNoLeak()
}

func TestDeclinedDeliveryIsOfferedAgain(t *testing.T) {
	f := newFeed(t, 100)
	room, got := 1, []api.ResourceVersion{}
	w := f.watch(watcher.Options{QueueSize: 2, Sink: func(d watcher.Delivery) bool {
		if room == 0 {
			return false
		}
		room--
		got = append(got, d.ResourceVersion)
		f.arena.Release(d.Content)
		return true
	}})
	for i := range 3 {
		w.TryAdd(f.do("ns/" + strconv.Itoa(i)))
		w.Run()
	}
	w.Run()
	assert.Equal(t, []api.ResourceVersion{2}, got)
	room = 10
	w.Stop(true)
	w.Run()
	assert.Equal(t, []api.ResourceVersion{2, 3, 4}, got)
	assert.True(t, w.Finished())
	f.assertNoLeak()
}
