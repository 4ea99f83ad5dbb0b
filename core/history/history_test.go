package history_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

const window = 75_000

func newWindow(minimum, maximum int) (*store.Arena, *history.Window) {
	arena := store.NewArena()
	return arena, history.New(arena, history.Limits{MinCapacity: minimum, MaxCapacity: maximum, WindowMillis: window})
}

// deleted returns the deletion of an object at a version and a time.
func deleted(arena *store.Arena, rv api.ResourceVersion, millis int64) history.Event {
	ref := objects.Version(arena, "default/"+rv.String()+" rv="+rv.String()+" rev="+rv.String())
	return history.Event{ResourceVersion: rv, Previous: ref, Millis: millis}
}

// held returns the resource versions of the events in a window.
func held(w *history.Window) []api.ResourceVersion {
	list := []api.ResourceVersion{}
	for p := w.Start(); p < w.End(); p++ {
		list = append(list, w.At(p).ResourceVersion)
	}
	return list
}

func TestH2_Defaults(t *testing.T) {
	_, w := newWindow(0, 0)
	assert.Equal(t, 100, w.Capacity())
	assert.EqualValues(t, 75_000, w.WindowMillis())
}

// The default maximum capacity doubles, as often as necessary, for a longer time window
// (T33). All events are within the time window, so the ring grows to its maximum.
func TestH2_UpperBound(t *testing.T) {
	for _, c := range []struct {
		name   string
		millis int64
		want   int
	}{
		{"75s and less: 102400", window, 102400},
		{"less is no less", 1000, 102400},
		{"a little more doubles", window + 1, 2 * 102400},
		{"twice doubles", 2 * window, 2 * 102400},
		{"3 times: two doublings", 3 * window, 4 * 102400},
		{"17 times: five doublings", 17 * window, 32 * 102400},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := history.New(store.NewArena(), history.Limits{MinCapacity: 102400, WindowMillis: c.millis})
			for rv := range api.ResourceVersion(c.want + 2) {
				w.Append(history.Event{ResourceVersion: rv + 1})
			}
			assert.Equal(t, c.want, w.Capacity())
		})
	}
	t.Run("the shift is capped", func(t *testing.T) {
		limits := history.Limits{WindowMillis: 1 << 60}
		assert.Equal(t, 102400<<14, limits.Defaults().MaxCapacity)
	})
	t.Run("never below the lower bound", func(t *testing.T) {
		assert.Equal(t, 300_000, history.Limits{MinCapacity: 300_000}.Defaults().MaxCapacity)
	})
}

// An Append doubles the ring, halves it, or keeps its size (T30). The ages of earlier
// events, in milliseconds, are relative to the appended event.
func TestH3_Resize(t *testing.T) {
	const fresh, old = 1_000, 80_000
	for _, c := range []struct {
		name               string
		capacity, lo, hi   int
		count, start       int
		oldest, newQuarter int64 // age of the ring's events
		want               int
		dropped            int // events removed by resizing and eviction
	}{
		{"not full, all fresh: as it is", 5, 1, 10, 4, 0, fresh, fresh, 5, 0},
		{"not full, all old: as it is", 5, 1, 10, 4, 0, old, old, 5, 0},
		{"full, oldest old, newer quarter fresh: as it is", 8, 1, 16, 8, 0, old, fresh, 8, 1},
		{"full and fresh: doubles", 5, 1, 10, 5, 0, fresh, fresh, 10, 0},
		{"full and fresh, turned: doubles", 5, 1, 10, 5, 3, fresh, fresh, 10, 0},
		{"full and fresh: up to the bound", 5, 1, 8, 5, 0, fresh, fresh, 8, 0},
		{"full and fresh at the bound: evicts", 5, 1, 5, 5, 0, fresh, fresh, 5, 1},
		{"full and fresh at the bound, turned: evicts", 5, 1, 5, 5, 3, fresh, fresh, 5, 1},
		{"exactly the window is not fresh", 8, 1, 16, 8, 0, window, fresh, 8, 1},
		{"just inside the window is", 8, 1, 16, 8, 0, window - 1, fresh, 16, 0},
		{"full and old: halves", 8, 1, 16, 8, 0, old, old, 4, 5},
		{"full and old, turned: halves", 8, 1, 16, 8, 5, old, old, 4, 5},
		{"full and old, odd: halves down", 5, 1, 10, 5, 0, old, old, 2, 4},
		{"full and old: down to the bound", 8, 6, 16, 8, 0, old, old, 6, 3},
		{"full and old at the bound: evicts", 8, 8, 16, 8, 0, old, old, 8, 1},
		{"quarter exactly the window: as it is", 8, 1, 16, 8, 0, old, window, 8, 1},
		{"quarter just beyond: halves", 8, 1, 16, 8, 0, old, window + 1, 4, 5},
		{"bounds meet: evicts when fresh", 4, 4, 4, 4, 0, fresh, fresh, 4, 1},
		{"bounds meet: evicts when old", 4, 4, 4, 4, 0, old, old, 4, 1},
		{"one slot: doubles", 1, 1, 4, 1, 0, fresh, fresh, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			arena := store.NewArena()
			w := history.NewAt(arena, history.Limits{MinCapacity: c.lo, MaxCapacity: c.hi, WindowMillis: window}, c.capacity, c.start)
			const now = 10_000_000
			quarter := c.count - c.capacity/4
			for i := range c.count {
				at := now - c.oldest
				if i >= quarter {
					at = now - c.newQuarter
				}
				w.Append(deleted(arena, api.ResourceVersion(100+i), at))
			}
			require.Equal(t, c.capacity, w.Capacity())
			require.Equal(t, c.start, w.Start())
			before := map[int]api.ResourceVersion{}
			for p := w.Start(); p < w.End(); p++ {
				before[p] = w.At(p).ResourceVersion
			}
			w.Append(deleted(arena, 200, now))
			assert.Equal(t, c.want, w.Capacity())
			assert.Equal(t, c.start+c.dropped, w.Start())
			assert.Equal(t, c.start+c.count+1, w.End())
			for p := w.Start(); p < w.End()-1; p++ {
				assert.Equal(t, before[p], w.At(p).ResourceVersion, "H4: an event keeps its position")
			}
			assert.EqualValues(t, 200, w.At(w.End()-1).ResourceVersion)
			assert.Equal(t, w.End()-w.Start(), arena.Versions(), "versions of evicted events are released")
		})
	}
}

// The test appends an event to a full ring whose events have even intervals, as in the
// test of kube-apiserver (T30). The oldest event is in the first slot of the ring or in a
// later one.
func TestT30_FullRingsOfEvenIntervals(t *testing.T) {
	const second = 1000
	for _, c := range []struct {
		capacity, lo, hi int
		interval         int64
		want, dropped    int // removed by resizing
	}{
		{5, 2, 10, window / 6, 10, 0},
		{5, 2, 10, window / 4, 5, 0},
		{5, 2, 10, window + second, 2, 3},
		{5, 3, 10, window + second, 3, 2},
		{5, 2, 8, window / 6, 8, 0},
		{8, 4, 16, window / 9, 16, 0},
		{8, 4, 16, window / 8, 8, 0},
		{8, 4, 16, window/2 + second, 4, 4},
		{8, 7, 16, window/2 + second, 7, 1},
		{8, 4, 10, window / 9, 10, 0},
	} {
		for _, start := range []int{0, 3} {
			arena := store.NewArena()
			w := history.NewAt(arena, history.Limits{MinCapacity: c.lo, MaxCapacity: c.hi, WindowMillis: window}, c.capacity, start)
			for i := range c.capacity {
				w.Append(deleted(arena, api.ResourceVersion(100+i), int64(i)*c.interval))
			}
			w.Append(deleted(arena, 200, int64(c.capacity)*c.interval))
			dropped := c.dropped
			if c.want <= c.capacity {
				dropped++ // the ring is full, so the new event evicts one more
			}
			assert.Equal(t, c.want, w.Capacity(), "%+v", c)
			assert.Equal(t, start+dropped, w.Start(), "%+v", c)
			assert.EqualValues(t, 100+dropped, w.At(w.Start()).ResourceVersion, "%+v", c)
		}
	}
}

func TestH5_EvictionMovesTheOldest(t *testing.T) {
	arena, w := newWindow(3, 3)
	w.Relist(10)
	for rv := api.ResourceVersion(11); rv <= 13; rv++ {
		w.Append(deleted(arena, rv, 0))
	}
	assertOldest(t, w, 10)
	w.Append(deleted(arena, 20, 0))
	assert.Equal(t, []api.ResourceVersion{12, 13, 20}, held(w))
	assertOldest(t, w, 11)
	assert.Equal(t, 3, arena.Versions())
}

func assertOldest(t *testing.T, w *history.Window, want api.ResourceVersion) {
	t.Helper()
	oldest, ok := w.Oldest()
	assert.True(t, ok)
	assert.Equal(t, want, oldest)
}

func TestH6_RelistEmptiesTheWindow(t *testing.T) {
	arena, w := newWindow(3, 3)
	for rv := api.ResourceVersion(1); rv <= 5; rv++ {
		w.Append(deleted(arena, rv, 0))
	}
	end := w.End()
	w.Relist(50)
	assert.Equal(t, end, w.Start(), "positions never decrease")
	assert.Equal(t, end, w.End())
	assert.Zero(t, arena.Versions())
	assertOldest(t, w, 50)
	w.Append(deleted(arena, 55, 0))
	assertOldest(t, w, 50)
	w.Append(deleted(arena, 56, 0))
	w.Append(deleted(arena, 57, 0))
	w.Append(deleted(arena, 58, 0))
	assertOldest(t, w, 55)
	w.Relist(58)
	assertOldest(t, w, 58)
}

func TestH7_Oldest(t *testing.T) {
	arena, w := newWindow(2, 2)
	_, ok := w.Oldest()
	assert.False(t, ok, "there was no list and no event")
	_, status := w.After(5)
	require.NotNil(t, status)
	assert.Equal(t, http.StatusInternalServerError, status.Code)
	w.Append(deleted(arena, 7, 0))
	assertOldest(t, w, 6)
}

func TestH8_After(t *testing.T) {
	arena, w := newWindow(4, 4)
	w.Relist(10)
	for _, rv := range []api.ResourceVersion{20, 30, 30, 40, 50} { // 20 is evicted
		w.Append(deleted(arena, rv, 0))
	}
	for _, c := range []struct {
		rv   api.ResourceVersion
		want []api.ResourceVersion
	}{
		{29, []api.ResourceVersion{30, 30, 40, 50}},
		{30, []api.ResourceVersion{40, 50}},
		{35, []api.ResourceVersion{40, 50}},
		{49, []api.ResourceVersion{50}},
		{50, []api.ResourceVersion{}},
		{99, []api.ResourceVersion{}}, // H9: future versions are accepted
	} {
		position, status := w.After(c.rv)
		require.Nil(t, status, "%d", c.rv)
		assert.Equal(t, c.want, append([]api.ResourceVersion{}, held(w)[position-w.Start():]...), "after %d", c.rv)
	}
	for _, rv := range []api.ResourceVersion{0, 10, 20, 28} {
		_, status := w.After(rv)
		require.NotNil(t, status)
		assert.Equal(t, api.Expired("too old resource version: "+rv.String()+" (29)"), status)
	}
}

// A transaction gives several events the same version. If the window evicted some of
// them, a watch cannot resume before that version.
func TestH7_OldestDoesNotSplitARevision(t *testing.T) {
	arena, w := newWindow(3, 3)
	w.Relist(10)
	for _, rv := range []api.ResourceVersion{20, 30, 30, 40} {
		w.Append(deleted(arena, rv, 0))
	}
	assertOldest(t, w, 29)
	w.Append(deleted(arena, 50, 0))
	assert.Equal(t, []api.ResourceVersion{30, 40, 50}, held(w))
	assertOldest(t, w, 30)
	w.Append(deleted(arena, 60, 0))
	assertOldest(t, w, 39)
}

// If nothing has changed since the list, the window accepts the version of the list and
// later versions, and rejects earlier ones (T10).
func TestH10_EmptyWindow(t *testing.T) {
	_, w := newWindow(0, 0)
	w.Relist(100)
	_, status := w.After(99)
	assert.Equal(t, api.Expired("too old resource version: 99 (100)"), status)
	for _, rv := range []api.ResourceVersion{100, 101} {
		position, status := w.After(rv)
		assert.Nil(t, status)
		assert.Equal(t, w.End(), position)
	}
}

func TestH11_EventsHoldTheVersionBefore(t *testing.T) {
	arena, w := newWindow(2, 2)
	first, second := objects.Version(arena, "a rv=1"), objects.Version(arena, "a rv=2") // including the reference of the store
	w.Append(history.Event{ResourceVersion: 1, Current: first})
	w.Append(history.Event{ResourceVersion: 2, Current: second, Previous: first})
	assert.Equal(t, "a@1", objects.Ref(arena, w.At(0).Current), "the next event retains it")
	w.Append(history.Event{ResourceVersion: 3, Previous: second})
	assert.Equal(t, "a@1", objects.Ref(arena, w.At(1).Previous))
	assert.Equal(t, 2, arena.Versions(), "still the previous version of the second event")
	w.Append(deleted(arena, 4, 0))
	assert.Equal(t, "a@2", objects.Ref(arena, w.At(2).Previous))
	assert.Equal(t, 2, arena.Versions())
	w.Relist(4)
	assert.Zero(t, arena.Versions())
}
