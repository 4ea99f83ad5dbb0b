package cacher_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// start is the initial time of every test.
const start = 1_700_000_000_000

// world is a cacher whose source is the test.
type world struct {
	*cacher.Cacher
	t    *testing.T
	now  int64
	open []*watcher.Watcher
}

func newWorld(t *testing.T, limits history.Limits) *world {
	w := &world{Cacher: cacher.New(cacher.Config{Schema: objects.Pods(), History: limits, Seed: 1}), t: t, now: start}
	w.Tick(w.now)
	return w
}

// listed returns a world after its first list.
func listed(t *testing.T, rv api.ResourceVersion, items ...string) *world {
	w := newWorld(t, history.Limits{})
	w.list(rv, items...)
	return w
}

func (w *world) list(rv api.ResourceVersion, items ...string) {
	w.Listing().Begin()
	for _, item := range items {
		w.Listing().Object(objects.Update(item))
	}
	w.Listing().End(rv, w.now)
}

// do applies changes: objects in the short notation, or deletions such as
// "-default/a rv=6".
func (w *world) do(changes ...string) {
	for _, change := range changes {
		if text, deleted := strings.CutPrefix(change, "-"); deleted {
			o := objects.Object(text)
			w.Delete(o.Key, o.ResourceVersion, w.now)
		} else {
			w.Apply(objects.Update(change), w.now)
		}
	}
}

// pass advances the clock in steps of a quarter of a second.
func (w *world) pass(millis int64) {
	for end := w.now + millis; w.now < end; {
		w.now = min(w.now+250, end)
		w.Tick(w.now)
	}
}

// start starts a watch, which must succeed without waiting.
func (w *world) start(opt cacher.WatchOptions) *watcher.Watcher {
	w.t.Helper()
	started, status := w.tryStart(opt)
	require.Nil(w.t, status)
	require.NotNil(w.t, started)
	return started
}

func (w *world) tryStart(opt cacher.WatchOptions) (started *watcher.Watcher, status *api.Status) {
	ended, closed := 0, opt.Closed
	opt.Closed = func() {
		ended++
		require.Equal(w.t, 1, ended, "W7: the end of a watch was reported again")
		if closed != nil {
			closed()
		}
	}
	refused := w.Watch(opt, func(x *watcher.Watcher, s *api.Status) { started, status = x, s })
	if started != nil {
		w.open = append(w.open, started)
	}
	if refused != nil {
		return nil, refused
	}
	return started, status
}

func (w *world) take(x *watcher.Watcher) []string {
	list := objects.Take(w.Arena(), x)
	w.Watches().Resume()
	return list
}

// page is the result of a list, with the names of its items.
type page struct {
	items     []string
	rv        api.ResourceVersion
	next      string
	remaining uint64
}

// page returns one page of a list, which must succeed without waiting.
func (w *world) page(opt cacher.ListOptions) page {
	w.t.Helper()
	p, status := w.tryPage(opt)
	require.Nil(w.t, status)
	require.NotNil(w.t, p, "no reply yet")
	return *p
}

func (w *world) tryPage(opt cacher.ListOptions) (p *page, status *api.Status) {
	refused := w.List(opt, func(r *cacher.Pages, s *api.Status) {
		if status = s; s == nil {
			var items []store.Ref
			items, status = r.All()
			p = &page{objects.Refs(w.Arena(), items), r.ResourceVersion, r.Continue, r.Remaining}
		}
	})
	if refused != nil || status != nil {
		return nil, cmp.Or(refused, status)
	}
	return p, nil
}

// assertNoLeak closes everything and checks that only the state and the history
// hold versions.
func (w *world) assertNoLeak() {
	w.t.Helper()
	for _, x := range w.open {
		w.Watches().Stop(x)
	}
	held := map[store.Ref]bool{}
	w.State().Ascend("", func(ref store.Ref) bool {
		held[ref] = true
		return true
	})
	for p := w.Window().Start(); p < w.Window().End(); p++ {
		e := w.Window().At(p)
		held[e.Current], held[e.Previous] = true, true
	}
	delete(held, 0)
	assert.Equal(w.t, len(held), w.Arena().Versions(), "unreferenced versions")
	assert.Zero(w.t, w.Watches().Len())
	w.list(w.ResourceVersion() + 1)
	assert.Zero(w.t, w.Arena().Versions(), "an empty list removes all objects")
	assert.Zero(w.t, w.Arena().UsedBytes())
}

// Options for common kinds of watches.
var (
	fromState = cacher.WatchOptions{}
	withMarks = cacher.WatchOptions{Bookmarks: true}
)

func since(rv string) cacher.WatchOptions { return cacher.WatchOptions{ResourceVersion: rv} }

func conflating(rv string) cacher.WatchOptions {
	return cacher.WatchOptions{ResourceVersion: rv, Policy: api.PolicyConflate}
}
