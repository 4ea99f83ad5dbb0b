package watcher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// Initial supplies the events that precede live events: none, the state of the store at
// registration, or a range of the history.
type Initial struct {
	arena *store.Arena
	// state holds references to its versions, starting at index position.
	state    []store.Ref
	version  api.ResourceVersion // version of the state, or of the last event
	window   *history.Window
	position int
	end      int
	// batch holds events that were read from the window but not delivered, with
	// references to their versions.
	batch []history.Event
	// collect is set while the state is incomplete, and nil afterwards.
	collect  Collect
	filtered bool // the state contains only matching versions
}

// Collect passes the next matching versions of a state to the function add, until the
// meter of the watch is exhausted. It reports whether the state is complete.
type Collect func(add func(store.Ref)) (done bool, status *api.Status)

// batchSize is the number of events read from the window in one step (rule H17). A batch
// also includes the rest of its last revision, so eviction from the window ends a watch
// only between revisions.
const batchSize = 100

// FromState returns an Initial that sends every version as ADDED in the given order
// (rules H19, W40). It takes ownership of the references. The argument rv is the resource
// version of the state.
func FromState(arena *store.Arena, state []store.Ref, rv api.ResourceVersion) Initial {
	return Initial{arena: arena, state: state, version: rv, end: len(state)}
}

// FromCollection is like FromState for a state that is collected in parts. The
// watch sends its first event when the state is complete.
func FromCollection(arena *store.Arena, collect Collect, rv api.ResourceVersion) Initial {
	return Initial{arena: arena, version: rv, collect: collect, filtered: true}
}

// FromHistory returns an Initial that sends the events currently in the window, starting
// at a position. It reads them in batches as the consumer takes them. If the window
// evicts an event before the event is read, the watch ends (rules H17, W33).
func FromHistory(arena *store.Arena, window *history.Window, position int) Initial {
	i := Initial{arena: arena, window: window, position: position, end: window.End()}
	if !i.finished() {
		i.version = window.At(i.end - 1).ResourceVersion
	}
	return i
}

func (i *Initial) finished() bool {
	return i.position >= i.end && len(i.batch) == 0 && i.collect == nil
}

// collectMore continues to collect the state, with one reference to each version.
func (i *Initial) collectMore() *api.Status {
	done, status := i.collect(func(ref store.Ref) {
		i.state = append(i.state, i.arena.Retain(ref))
		i.end++
	})
	if done {
		i.collect = nil
	}
	return status
}

// next returns the next event with one reference to each of its versions. It
// returns false if the window has evicted the event.
func (i *Initial) next() (e history.Event, ok bool) {
	if i.window == nil {
		e = history.Event{Current: i.state[i.position]}
		if i.position++; i.position == i.end {
			i.state = nil // release the memory, because the watch may last for hours
		}
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
		i.arena.Retain(e.Current)
		i.arena.Retain(e.Previous)
		i.batch = append(i.batch, e)
		i.position++
		last = e.ResourceVersion
	}
}

// continues reports whether the next event belongs to the given revision.
func (i *Initial) continues(revision api.ResourceVersion) bool {
	return len(i.batch) > 0 && i.batch[0].ResourceVersion == revision
}

func (i *Initial) release() {
	if i.window == nil {
		for ; i.position < i.end; i.position++ {
			i.arena.Release(i.state[i.position])
		}
	}
	for _, e := range i.batch {
		i.arena.Release(e.Current)
		i.arena.Release(e.Previous)
	}
	*i = Initial{}
}
