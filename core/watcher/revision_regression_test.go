package watcher_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/watcher"
)

// A watch that ends inside a revision delivers the rest of that revision. Clients resume
// after the last version received (G8) and would otherwise never receive the rest (W38).
func TestG4_WatchesEndBetweenRevisions(t *testing.T) {
	t.Run("stopped with the rest admitted", func(t *testing.T) {
		f := newFeed(t, 100)
		w := f.watch(watcher.Options{QueueSize: 1})
		for _, change := range []string{"ns/a rv=5", "ns/b rv=5", "ns/c rv=5", "ns/d rv=6"} {
			w.TryAdd(f.do(change))
			w.Run()
		}
		w.Stop(false)
		assert.Equal(t, []string{"ADDED ns/a@5", "ADDED ns/b@5", "ADDED ns/c@5"}, f.take(w))
		assert.True(t, w.Finished())
		f.assertNoLeak()
	})
	t.Run("terminated with the rest not admitted", func(t *testing.T) {
		f := newFeed(t, 100)
		w := f.watch(watcher.Options{QueueSize: 1})
		require.True(t, w.TryAdd(f.do("ns/a rv=5")))
		w.Run()
		require.True(t, w.TryAdd(f.do("ns/b rv=6")))
		require.True(t, w.TryAdd(f.do("ns/c rv=6")), "the rest of a revision needs no room")
		require.False(t, w.TryAdd(f.do("ns/d rv=7")))
		w.Terminate()
		assert.Equal(t, []string{"ADDED ns/a@5"}, f.take(w), "no event of revision 6 was delivered")
		f.assertNoLeak()
	})
	t.Run("overtaken in the initial events", func(t *testing.T) {
		f := newFeed(t, 103)
		for i := range 99 {
			f.do("ns/" + strconv.Itoa(i))
		}
		for _, change := range []string{"ns/a rv=500", "ns/b rv=500", "ns/c rv=500", "ns/d rv=501"} {
			f.do(change)
		}
		w := f.watch(watcher.Options{QueueSize: 1, Initial: f.since(1)})
		w.Run() // reads a hundred events and the rest of the last revision
		for range 103 {
			f.do("ns/x")
		}
		events := f.take(w)
		assert.Equal(t, []string{"ADDED ns/a@500", "ADDED ns/b@500", "ADDED ns/c@500"}, events[99:])
		assert.True(t, w.Finished())
		f.assertNoLeak()
	})
	t.Run("stopped in the initial events", func(t *testing.T) {
		f := newFeed(t, 3)
		for _, change := range []string{"ns/a rv=5", "ns/b rv=5", "ns/c rv=6"} {
			f.do(change)
		}
		w := f.watch(watcher.Options{QueueSize: 1, Initial: f.since(1)})
		w.Run()
		w.Stop(false)
		assert.Equal(t, []string{"ADDED ns/a@5", "ADDED ns/b@5"}, f.take(w))
		assert.True(t, w.Finished())
		f.assertNoLeak()
	})
	t.Run("nothing was begun", func(t *testing.T) {
		f := newFeed(t, 100)
		w := f.watch(watcher.Options{QueueSize: 1, Initial: f.since(1)})
		f.do("ns/a rv=5")
		w.Stop(false)
		assert.Empty(t, f.take(w))
		f.assertNoLeak()
	})
}
