package cacher

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/watchglass/watchglass/core/api"
)

// probe requests a watch from a version that is too old. Sometimes it also starts watches
// from the oldest available version and the version before.
func (w *world) probe() {
	w.t.Helper()
	w.startWatch(&request{rv: "1"}, false, nil).stop(w)
	if oldest, ok := w.ours.Window().Oldest(); ok && w.oneIn(10) {
		w.startWatch(&request{rv: oldest.String(), labels: "app=web"}, false, nil).stop(w)
		w.startWatch(&request{rv: (oldest - 1).String()}, false, nil).stop(w)
	}
}

// The windows of both sides grow, shrink and evict at the same events (H1 to H8, T30).
// Some time steps equal the duration of the window exactly, because the rules of the
// window use strict comparisons.
func TestWindowsEvictTheSameEvents(t *testing.T) {
	for i := range max(*worlds/5, 1) {
		t.Run(fmt.Sprint(*seed+int64(i)), func(t *testing.T) {
			t.Parallel()
			w := newSeededWorld(t, *seed+int64(i))
			w.begin()
			sizes := map[int]int{}
			for range *steps / 5 {
				w.pass([]time.Duration{
					2500 * time.Millisecond, 5 * time.Second, 25 * time.Second, 50 * time.Second,
					72500 * time.Millisecond, 75 * time.Second, 75*time.Second + time.Millisecond,
				}[w.random.Intn(7)])
				for range w.burstLength() {
					w.change()
					w.probe()
				}
				sizes[w.ours.Window().Capacity()]++
			}
			t.Log("sizes of the window:", sizes)
			w.end()
		})
	}
}

// burstLength returns a random number of changes: at most 40, or sometimes more than a
// window contains.
func (w *world) burstLength() int {
	if w.oneIn(6) {
		return 50 + w.random.Intn(300)
	}
	return 1 + w.random.Intn(40)
}

// A watch that is not read buffers events up to the capacity of its queue, on both sides.
// The capacity grows with the window (H16).
func TestUnreadWatchBuffersAsManyEvents(t *testing.T) {
	w := newSeededWorld(t, *seed)
	w.begin()
	for _, capacity := range []int{100, 800, 1600, 6400, 12800} {
		for w.ours.Window().Capacity() < capacity {
			w.change()
		}
		s := &slow{pair: w.unread(&request{rv: fmt.Sprint(w.rv)}), ended: w.ended()}
		s.begin(w)
		for w.ended()[0] == s.ended[0] {
			w.change()
		}
		w.readSlow()
		t.Logf("a window of %d: %d events", capacity, len(s.ours.events))
	}
	w.end()
}

// Neither side delivers the deletion of an unknown object (W29). The clock does not
// advance, because such a deletion takes a slot only in the library's window, and
// evictions depend on free slots.
func TestDeletionOfAnUnknownObject(t *testing.T) {
	w := newSeededWorld(t, *seed)
	w.begin()
	for range 50 {
		w.change()
		w.mu.Lock()
		p := w.makePod("n1/unknown")
		delete(w.pods, "n1/unknown")
		w.mu.Unlock()
		w.ours.Delete("n1/unknown", api.ResourceVersion(w.rv), w.now.UnixMilli())
		w.theirs.send(watch.Event{Type: watch.Deleted, Object: p})
		w.watchSomething()
		w.listSomething()
	}
	w.end()
}
