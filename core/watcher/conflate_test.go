package watcher_test

import (
	"math/rand"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// stalled opens a conflating watch with a full output queue, so all further events stay
// in the input queue.
func stalled(f *feed, opt watcher.Options) *watcher.Watcher {
	opt.QueueSize, opt.Policy = 2, api.PolicyConflate
	w := f.watch(opt)
	for _, name := range []string{"ns/x", "ns/y"} {
		require.True(f.t, w.TryAdd(f.do(name)))
		w.Run()
	}
	return w
}

// Conflation replaces several changes to one object with one change, at the position of
// the last (B6).
func TestConflate(t *testing.T) {
	for _, c := range []struct {
		name    string
		labels  string
		changes []string
		want    []string // events after those of x and y
	}{
		{"updates of one object become one", "", []string{"ns/a", "ns/a", "ns/a"}, []string{"ADDED ns/a@6"}},
		{"at the place of the last", "", []string{"ns/a", "ns/b", "ns/a"}, []string{"ADDED ns/b@5", "ADDED ns/a@6"}},
		{"came and went: nothing", "", []string{"ns/a", "-ns/a", "ns/b"}, []string{"ADDED ns/b@6"}},
		{"came, went and came", "", []string{"ns/a", "-ns/a", "ns/a", "ns/b"}, []string{"ADDED ns/a@6", "ADDED ns/b@7"}},
		{"two came and went", "", []string{"ns/a", "-ns/a", "ns/b", "-ns/b", "ns/a", "-ns/a", "ns/b", "ns/b"}, []string{"ADDED ns/b@11"}},
		{"known, changed and gone: gone", "", []string{"ns/x", "ns/b", "-ns/x"}, []string{"ADDED ns/b@5", "DELETED ns/x@6"}},
		{"known, gone and back: changed", "", []string{"-ns/x", "ns/b", "ns/x"}, []string{"ADDED ns/b@5", "MODIFIED ns/x@6"}},
		{"in and out of the selector", "app", []string{"ns/a app=web", "ns/a", "ns/a app=db", "ns/b app=db"}, []string{"ADDED ns/a@6", "ADDED ns/b@7"}},
		{"what does not match waits nowhere", "app", []string{"ns/a", "ns/b", "ns/c", "ns/d app=web"}, []string{"ADDED ns/d@7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(t, 1000)
			w := stalled(f, watcher.Options{})
			want := append([]string{"ADDED ns/x@2", "ADDED ns/y@3"}, c.want...)
			if c.labels != "" {
				w.Discard()
				w = f.watch(watcher.Options{QueueSize: 2, Policy: api.PolicyConflate, Filter: f.filter("", c.labels, ""), Initial: f.snapshot()})
				want = c.want
			}
			for _, change := range c.changes {
				require.True(t, w.TryAdd(f.do(change)))
			}
			w.Conflate()
			assert.Equal(t, want, f.take(w))
			f.assertNoLeak()
		})
	}
}

// A merged change reports every cell that any of the original changes modified.
func TestConflatedChangeReportsChangedCellsOfBoth(t *testing.T) {
	f := newFeed(t, 1000)
	f.do("ns/a phase=Pending")
	w := f.watch(watcher.Options{QueueSize: 2, Policy: api.PolicyConflate, Filter: f.filter("", "", "status.phase=Running"), Watermark: f.rv})
	for _, change := range []string{"ns/a phase=Running", "ns/a phase=Running nodeName=n1"} {
		require.True(t, w.TryAdd(f.do(change)))
	}
	w.Conflate()
	assert.Equal(t, []string{"ADDED ns/a@4"}, f.take(w))
	f.assertNoLeak()
}

// A bookmark promises that everything up to its version was delivered. Conflation must
// drop the bookmark if a change that the bookmark covers moves behind it.
func TestG9_ConflateDropsOvertakenBookmarks(t *testing.T) {
	f := newFeed(t, 1000)
	w := stalled(f, watcher.Options{Bookmarks: true})
	w.TryAdd(f.do("ns/a"))
	require.True(t, w.AddBookmark(f.rv))
	for range 3 {
		w.TryAdd(f.do("ns/a"))
	}
	w.Conflate()
	assert.Equal(t, []string{"ADDED ns/x@2", "ADDED ns/y@3", "ADDED ns/a@7"}, f.take(w))
	f.assertNoLeak()
}

// consumer tracks the state that a client derives from the events alone.
type consumer struct {
	t     *testing.T
	arena *store.Arena
	seen  map[api.Key]api.ResourceVersion
	last  api.ResourceVersion
	marks map[api.ResourceVersion]map[api.Key]api.ResourceVersion // the state at each bookmark
}

func newConsumer(f *feed) *consumer {
	return &consumer{
		t: f.t, arena: f.arena, seen: map[api.Key]api.ResourceVersion{},
		marks: map[api.ResourceVersion]map[api.Key]api.ResourceVersion{},
	}
}

func (c *consumer) take(d watcher.Delivery, initial bool) {
	require.False(c.t, !initial && d.ResourceVersion < c.last, "versions never decrease")
	if !initial {
		c.last = d.ResourceVersion
	}
	if d.Type == api.Bookmark {
		copied := map[api.Key]api.ResourceVersion{}
		for k, v := range c.seen {
			copied[k] = v
		}
		c.marks[d.ResourceVersion] = copied
		return
	}
	key := api.Key(append([]byte(nil), c.arena.Key(d.Content)...))
	_, known := c.seen[key]
	require.Equal(c.t, d.Type != api.Added, known, "%s of %s", d.Type, key)
	if d.Type == api.Deleted {
		delete(c.seen, key)
	} else {
		c.seen[key] = d.ResourceVersion
	}
	c.arena.Release(d.Content)
}

// A conflating watch whose consumer reads irregularly converges to the actual state. It
// never goes back in time, never sends events that contradict each other, and queues at
// most one change per object. At each bookmark, the client's state equals the actual
// state at that version.
func TestConflateConverges(t *testing.T) {
	for seed := range int64(60) {
		random := rand.New(rand.NewSource(seed))
		f := newFeed(t, 10_000)
		filter := f.filter("", "app=web", "")
		if seed%3 == 0 {
			filter = f.filter("", "", "")
		}
		truth := map[api.ResourceVersion]map[api.Key]api.ResourceVersion{}
		matching := func() map[api.Key]api.ResourceVersion {
			m := map[api.Key]api.ResourceVersion{}
			f.state.Ascend("", func(ref store.Ref) bool {
				if filter.Matches(ref) {
					m[api.Key(append([]byte(nil), f.arena.Key(ref)...))] = f.arena.ResourceVersion(ref)
				}
				return true
			})
			return m
		}
		objects := 1 + random.Intn(30)
		change := func() string {
			name := "ns/" + strconv.Itoa(random.Intn(objects))
			if random.Intn(4) == 0 && f.state.Get(api.Key(name)) != 0 {
				return "-" + name
			}
			return name + [...]string{" app=web", " app=db"}[random.Intn(2)]
		}
		for range 10 {
			f.do(change())
		}
		end := f.rv
		c := newConsumer(f)
		w := f.watch(watcher.Options{
			QueueSize: 1 + random.Intn(8), Policy: api.PolicyConflate, Filter: filter, Bookmarks: true,
			Initial: f.snapshot(), Watermark: f.rv, EndBookmark: f.rv, BookmarkAfter: f.rv,
		})
		truth[f.rv] = matching()
		take := func(n int) {
			for range n {
				w.Run()
				if d, ok := w.Take(); ok {
					c.take(d, len(c.marks) == 0 && d.Type == api.Added)
				}
			}
		}
		for range 2000 {
			switch random.Intn(10) {
			case 0:
				take(random.Intn(40))
			case 1:
				truth[f.rv] = matching()
				w.AddBookmark(f.rv)
			default:
				require.True(t, w.TryAdd(f.do(change())), "a conflating watch always has room")
			}
			require.LessOrEqual(t, w.Queued(), max(2*objects+2, 9)*2)
		}
		w.Stop(true)
		take(20_000)
		require.True(t, w.Finished())
		assert.Equal(t, matching(), c.seen, "seed %d", seed)
		assert.Contains(t, c.marks, end)
		for rv, state := range c.marks {
			require.Equal(t, truth[rv], state, "seed %d: the state that the bookmark at %d confirms", seed, rv)
		}
		f.assertNoLeak()
	}
}

// The previous version of a merged update is the last delivered version of the object.
func TestConflatedUpdateHasThePreviousVersionOfTheFirstChange(t *testing.T) {
	f := newFeed(t, 1000)
	w := stalled(f, watcher.Options{Previous: true})
	for _, change := range []string{"ns/x", "ns/b", "ns/x", "ns/x"} {
		require.True(t, w.TryAdd(f.do(change)))
	}
	w.Conflate()
	got := []string{}
	for d, ok := w.Take(); ok; d, ok = w.Take() {
		text := objects.Delivery(f.arena, d)
		if d.Previous != 0 {
			text += ", was " + objects.Ref(f.arena, d.Previous)
		}
		got = append(got, text)
		f.arena.Release(d.Content)
		f.arena.Release(d.Previous)
		w.Run()
	}
	assert.Equal(t, []string{"ADDED ns/x@2", "ADDED ns/y@3", "ADDED ns/b@5", "MODIFIED ns/x@7, was ns/x@2"}, got)
	f.assertNoLeak()
}
