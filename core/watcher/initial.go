package watcher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// Initial is what a watch is sent before the live events: nothing, the state
// of the store as captured at registration, or a stretch of the history.
type Initial struct {
	heap *store.Heap
	// state holds one count of each version, from position on.
	state    []store.Ref
	version  api.ResourceVersion // of the state, or of the last event
	window   *history.Window
	position int
	end      int
	// batch holds, with counts, what was read of the window and not yet told.
	batch []history.Event
}

// batchSize is how many events of the window are read at once (rule H17), and as
// many more as complete the last revision: an interval is overtaken between
// revisions only.
const batchSize = 100

// FromState starts with every version as ADDED, in the order given (rules H19,
// W40). It takes over the counts; rv is the version of the whole state.
func FromState(heap *store.Heap, state []store.Ref, rv api.ResourceVersion) Initial {
	return Initial{heap: heap, state: state, version: rv, end: len(state)}
}

// FromHistory starts with the events from a position on that are in the window
// now. They are read in batches, as the consumer takes them; if the window moves
// past the next one before that, the interval is invalid (rules H17, W33).
func FromHistory(heap *store.Heap, window *history.Window, position int) Initial {
	i := Initial{heap: heap, window: window, position: position, end: window.End()}
	if !i.finished() {
		i.version = window.At(i.end - 1).ResourceVersion
	}
	return i
}

func (i *Initial) finished() bool { return i.position >= i.end && len(i.batch) == 0 }

// next returns the next event with one count of each version it names, or false
// when the window has moved past it.
func (i *Initial) next() (e history.Event, ok bool) {
	if i.window == nil {
		e = history.Event{Current: i.state[i.position]}
		i.position++
		return e, true
	}
	if len(i.batch) == 0 {
		if i.position < i.window.Start() {
			return e, false
		}
		i.readBatch()
	}
	e = i.batch[0]
	i.batch = i.batch[1:]
	return e, true
}

func (i *Initial) readBatch() {
	var last api.ResourceVersion
	for i.position < i.end {
		e := *i.window.At(i.position)
		if len(i.batch) >= batchSize && e.ResourceVersion != last {
			return
		}
		i.heap.Retain(e.Current)
		i.heap.Retain(e.Previous)
		i.batch = append(i.batch, e)
		i.position++
		last = e.ResourceVersion
	}
}

// goesOn reports whether the next event belongs to a revision.
func (i *Initial) goesOn(revision api.ResourceVersion) bool {
	return len(i.batch) > 0 && i.batch[0].ResourceVersion == revision
}

func (i *Initial) release() {
	if i.window == nil {
		for ; i.position < i.end; i.position++ {
			i.heap.Release(i.state[i.position])
		}
	}
	for _, e := range i.batch {
		i.heap.Release(e.Current)
		i.heap.Release(e.Previous)
	}
	*i = Initial{}
}
