package watcher_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// feed is a collection that generates events for watches.
type feed struct {
	t      *testing.T
	arena  *store.Arena
	state  *store.Store
	window *history.Window
	rv     api.ResourceVersion
	closed map[*watcher.Watcher]int // number of calls of Closed, by watch
}

func newFeed(t *testing.T, capacity int) *feed {
	arena := store.NewArena()
	f := &feed{t: t, arena: arena, state: store.New(arena), closed: map[*watcher.Watcher]int{}}
	f.window = history.New(arena, history.Limits{MinCapacity: capacity, MaxCapacity: capacity})
	f.window.Relist(1)
	f.rv = 1
	return f
}

// do applies one change: an object in the short notation, or a deletion such as
// "-default/a rv=6". Without rv=, the change gets the next version.
func (f *feed) do(text string) *history.Event {
	text, deleted := strings.CutPrefix(text, "-")
	if !strings.Contains(text, " rv=") {
		text += " rv=" + (f.rv + 1).String()
	}
	o := objects.Object(text)
	e := history.Event{ResourceVersion: o.ResourceVersion}
	if deleted {
		e.Previous = f.state.Remove(o.Key)
		require.NotZero(f.t, e.Previous, "%s is not there to be deleted", o.Key)
	} else {
		e.Current = objects.Version(f.arena, text)
		if e.Previous = f.state.Set(e.Current); e.Previous != 0 {
			e.Unchanged = objects.Unchanged(f.arena.Envelope(e.Previous), f.arena.Envelope(e.Current))
		}
	}
	f.rv = max(f.rv, e.ResourceVersion)
	f.window.Append(e)
	return f.window.At(f.window.End() - 1)
}

func (f *feed) filter(namespace, labels, fields string) *watcher.Filter {
	schema := objects.Pods()
	filter, status := watcher.NewFilter(f.arena, &schema, namespace, objects.Select(labels, fields))
	require.Nil(f.t, status)
	return filter
}

// watch opens a watch. By default, the watch matches every object and has queues of ten
// events. The test fails if the watch calls Closed more than once (W7).
func (f *feed) watch(opt watcher.Options) (w *watcher.Watcher) {
	if opt.Filter == nil {
		opt.Filter = f.filter("", "", "")
	}
	if opt.QueueSize == 0 {
		opt.QueueSize = 10
	}
	closed := opt.Closed
	opt.Closed = func() {
		f.closed[w]++
		assert.Equal(f.t, 1, f.closed[w], "W7: the end was reported again")
		if closed != nil {
			closed()
		}
	}
	w = watcher.New(f.arena, opt)
	return w
}

// snapshot returns an Initial with the current state.
func (f *feed) snapshot() watcher.Initial {
	var refs []store.Ref
	f.state.Ascend("", func(ref store.Ref) bool {
		refs = append(refs, f.arena.Retain(ref))
		return true
	})
	return watcher.FromState(f.arena, refs, f.rv)
}

// since returns an Initial with the events after a version.
func (f *feed) since(rv api.ResourceVersion) watcher.Initial {
	position, status := f.window.After(rv)
	require.Nil(f.t, status)
	return watcher.FromHistory(f.arena, f.window, position)
}

func (f *feed) take(w *watcher.Watcher) []string { return objects.Take(f.arena, w) }

// assertNoLeak empties the window, and checks that only the state has references to
// versions.
func (f *feed) assertNoLeak() {
	f.t.Helper()
	f.window.Relist(f.rv)
	assert.Equal(f.t, f.state.Len(), f.arena.Versions(), "a watch leaked references")
}
