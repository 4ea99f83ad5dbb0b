package watcher_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/watcher"
)

func TestW11_TooEarlyBookmarkIsRefused(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{Bookmarks: true, BookmarkAfter: 10})
	assert.False(t, w.AddBookmark(9))
	assert.Zero(t, w.Queued())
	assert.Equal(t, "waiting", w.State())
	assert.True(t, w.AddBookmark(10))
	assert.Equal(t, "received", w.State())
}

func TestW15_BookmarkThatFindsAFullQueueIsDropped(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{QueueSize: 2, Bookmarks: true, BookmarkAfter: 1})
	w.TryAdd(f.do("ns/a"))
	w.TryAdd(f.do("ns/b"))
	assert.False(t, w.AddBookmark(5))
	assert.Equal(t, "waiting", w.State(), "W21: only an admitted one counts")
	assert.Equal(t, []string{"ADDED ns/a@2", "ADDED ns/b@3"}, f.take(w))
}

func TestW16_BookmarkStateNeverDecreases(t *testing.T) {
	f := newFeed(t, 100)
	assert.Equal(t, "sent", f.watch(watcher.Options{}).State(), "W17: no end bookmark is due")

	w := f.watch(watcher.Options{Bookmarks: true, BookmarkAfter: 3})
	assert.Equal(t, "waiting", w.State(), "W17")
	w.AddBookmark(4)
	w.AddBookmark(5)
	assert.Equal(t, "received", w.State(), "W21")
	w.Run()
	assert.Equal(t, "sent", w.State(), "W22")
	w.AddBookmark(6)
	assert.Equal(t, "sent", w.State())
	assert.Equal(t, []string{"BOOKMARK @4 end", "BOOKMARK @5", "BOOKMARK @6"}, f.take(w), "W23: only the first ends the initial events")
}

func TestW18_NextBookmark(t *testing.T) {
	const now = 1_000_000
	for _, c := range []struct {
		name     string
		opt      watcher.Options
		received bool
		want     int64 // time after now; -1 for not scheduled
	}{
		{"W18 waiting: now", watcher.Options{Bookmarks: true, BookmarkAfter: 5}, false, 0},
		{"W18 waiting: now, whatever the deadline", watcher.Options{Bookmarks: true, BookmarkAfter: 5, DeadlineMillis: now + 1}, false, 0},
		{"W19 received: in a minute", watcher.Options{Bookmarks: true, BookmarkAfter: 5}, true, 60_000},
		{"W19 sent: in a minute", watcher.Options{Bookmarks: true}, false, 60_000},
		{"W19 far deadline: in a minute", watcher.Options{Bookmarks: true, DeadlineMillis: now + 100_000}, false, 60_000},
		{"W19 near deadline: two seconds before", watcher.Options{Bookmarks: true, DeadlineMillis: now + 10_000}, false, 8_000},
		{"W19 deadline in two seconds: now", watcher.Options{Bookmarks: true, DeadlineMillis: now + 2_000}, false, 0},
		{"W20 deadline in less: never", watcher.Options{Bookmarks: true, DeadlineMillis: now + 1_999}, false, -1},
		{"W25 no bookmarks requested: never", watcher.Options{BookmarkAfter: 5}, false, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFeed(t, 100).watch(c.opt)
			if c.received {
				require.True(t, w.AddBookmark(5))
			}
			next, ok := w.NextBookmark(now)
			require.Equal(t, c.want >= 0, ok)
			if ok {
				assert.EqualValues(t, now+c.want, next)
			}
			w.Stop(true)
			_, ok = w.NextBookmark(now)
			assert.False(t, ok, "C32: a stopped watch is skipped")
		})
	}
}

// A bookmark at the watermark is delivered only if it marks the end of the initial
// events.
func TestW35_BookmarksAtTheWatermark(t *testing.T) {
	f := newFeed(t, 100)
	ordinary := f.watch(watcher.Options{Bookmarks: true, Watermark: 5})
	ordinary.AddBookmark(4)
	ordinary.AddBookmark(5)
	assert.Empty(t, f.take(ordinary), "not before the collection's version advances")
	ordinary.AddBookmark(6)
	ordinary.AddBookmark(6)
	assert.Equal(t, []string{"BOOKMARK @6", "BOOKMARK @6"}, f.take(ordinary))

	list := f.watch(watcher.Options{Bookmarks: true, Watermark: 5, BookmarkAfter: 5})
	list.AddBookmark(5)
	list.AddBookmark(5)
	assert.Equal(t, []string{"BOOKMARK @5 end"}, f.take(list))
}

func TestW36_EndBookmarkFollowsTheInterval(t *testing.T) {
	f := newFeed(t, 100)
	f.do("ns/a rv=5")
	w := f.watch(watcher.Options{
		QueueSize: 1, Bookmarks: true, Initial: f.snapshot(), Watermark: 5, EndBookmark: 5, BookmarkAfter: 3,
	})
	w.TryAdd(f.do("ns/b rv=6"))
	w.Run()
	assert.Equal(t, "waiting", w.State())
	assert.False(t, w.AddBookmark(6), "the queue is full")
	assert.Equal(t, []string{"ADDED ns/a@5", "BOOKMARK @5 end", "ADDED ns/b@6"}, f.take(w), "W37")
	assert.Equal(t, "sent", w.State())
	w.AddBookmark(5)
	assert.Empty(t, f.take(w), "no older event follows the end bookmark")
	w.AddBookmark(7)
	assert.Equal(t, []string{"BOOKMARK @7"}, f.take(w))
}

func TestW36_EndBookmarkWithoutInitialEvents(t *testing.T) {
	f := newFeed(t, 100)
	w := f.watch(watcher.Options{Bookmarks: true, Initial: f.snapshot(), EndBookmark: 1, BookmarkAfter: 1})
	assert.Equal(t, []string{"BOOKMARK @1 end"}, f.take(w))
}
