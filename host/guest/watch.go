package guest

import (
	"context"
	"io"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// WatchOptions are those of a Kubernetes watch, and two of our own.
type WatchOptions struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
	// ResourceVersion is where to start. Empty or "0" starts with what is
	// there, as ADDED events.
	ResourceVersion      string
	ResourceVersionMatch ResourceVersionMatch
	SendInitialEvents    *bool
	AllowWatchBookmarks  bool
	Timeout              time.Duration // in whole seconds; zero for none
	MetadataOnly         bool          // leave the objects' JSON out

	// Conflate changes what happens when events are not taken: instead of
	// ending the watch, which is what Kubernetes does, the newest state per
	// object is kept.
	Conflate bool
	// Buffer is how many events may wait to be taken. Default 1000.
	Buffer int
}

const defaultBuffer = 1000

// Event is one event of a watch.
type Event struct {
	Type   api.EventType
	Object Object // of an ADDED, MODIFIED or DELETED event
	// ResourceVersion is the object's, or the bookmark's.
	ResourceVersion api.ResourceVersion
	// InitialEventsEnd marks the bookmark that ends the initial events.
	InitialEventsEnd bool
	Status           *api.Status // of an ERROR event
}

// Watch is a running watch. One goroutine at a time takes its events.
type Watch struct {
	collection *Collection
	id         uint32
	open       wire.OpenWatch
	delivered  bool // anything at all; belongs to the loop

	mu     sync.Mutex
	queue  []Event // bounded by the credit the engine has
	closed bool
	err    error // why it closed; nil for a normal end

	wake  chan struct{} // has room for one: the queue or closed has changed
	taken uint32        // events not granted again; belongs to the taker
}

// Watch starts a watch. Close it when done.
//
// An expired or unusable resource version, as in Kubernetes, is an ERROR event
// or an error; the way back is to list and to watch from the list's version.
func (c *Collection) Watch(ctx context.Context, opts WatchOptions) (*Watch, error) {
	open, err := c.openWatch(opts)
	if err != nil {
		return nil, err
	}
	w := &Watch{collection: c, open: open, wake: make(chan struct{}, 1)}
	err = c.client.call(ctx, func(l *loop) error {
		if l.collections[c.id] == nil {
			return ErrClosed
		}
		w.id = l.newID()
		l.watches[w.id] = w
		if err := l.step(w.command()); err != nil {
			delete(l.watches, w.id)
			return err
		}
		return w.refusal()
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (c *Collection) openWatch(opts WatchOptions) (wire.OpenWatch, error) {
	match, err := opts.ResourceVersionMatch.wire()
	if err != nil {
		return wire.OpenWatch{}, err
	}
	open := wire.OpenWatch{
		Collection: c.id, Namespace: opts.Namespace, LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector,
		ResourceVersion: opts.ResourceVersion, Match: match, Bookmarks: opts.AllowWatchBookmarks,
		TimeoutSeconds: uint32(min(max(opts.Timeout/time.Second, 0), math.MaxUint32)),
		Bodies:         !opts.MetadataOnly && !c.opts.MetadataOnly,
		Credit:         defaultBuffer,
	}
	if opts.SendInitialEvents != nil {
		open.SendInitialEvents = wire.False
		if *opts.SendInitialEvents {
			open.SendInitialEvents = wire.True
		}
	}
	if opts.Conflate {
		open.Policy = wire.PolicyConflate
	}
	if opts.Buffer > 0 {
		open.Credit = uint32(min(opts.Buffer, math.MaxInt32))
	}
	return open, nil
}

func (w *Watch) command() []byte {
	open := w.open
	open.Watch = w.id
	return open.Append(nil)
}

// Events yields events until the watch ends. A watch that ends in order ends
// the loop; anything else, ctx among it, comes as a last error. Leaving the
// loop does not close the watch.
func (w *Watch) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			event, err := w.Next(ctx)
			if err == io.EOF || !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Next waits for the next event. It returns io.EOF after the last one of a
// watch that ended in order.
func (w *Watch) Next(ctx context.Context) (Event, error) {
	for {
		event, ok, err := w.pop()
		if err != nil {
			return Event{}, err
		}
		if ok {
			w.grant(ctx)
			return event, nil
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Buffered is how many events Next returns without waiting.
func (w *Watch) Buffered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

func (w *Watch) pop() (event Event, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) > 0 {
		event = w.queue[0]
		w.queue[0] = Event{}
		w.queue = w.queue[1:]
		return event, true, nil
	}
	if !w.closed {
		return Event{}, false, nil
	}
	if w.err != nil {
		return Event{}, false, w.err
	}
	return Event{}, false, io.EOF
}

// grant gives credit back once half of it is used up, so that it costs one
// command for many events. What ctx prevents the next call makes good.
func (w *Watch) grant(ctx context.Context) {
	w.taken++
	if w.taken < (w.open.Credit+1)/2 {
		return
	}
	err := w.collection.client.call(ctx, func(l *loop) error {
		if l.watches[w.id] == nil {
			return nil
		}
		return l.step((&wire.GrantWatch{Watch: w.id, Events: w.taken}).Append(nil))
	})
	if err == nil {
		w.taken = 0
	}
}

// Close ends the watch. Events that were not taken are dropped.
func (w *Watch) Close() error {
	err := w.collection.client.call(context.Background(), func(l *loop) error {
		if l.watches[w.id] == nil {
			return nil
		}
		delete(l.watches, w.id)
		return l.step((&wire.CloseWatch{Watch: w.id}).Append(nil))
	})
	w.mu.Lock()
	w.queue = nil
	w.mu.Unlock()
	w.finish(ErrClosed)
	if err == ErrClosed {
		return nil // with its client
	}
	return err
}

func (w *Watch) push(events []Event) {
	w.mu.Lock()
	if !w.closed {
		w.queue = append(w.queue, events...)
	}
	w.mu.Unlock()
	w.signal()
}

// finish ends the watch after what is in the queue; the first reason counts.
func (w *Watch) finish(err error) {
	w.mu.Lock()
	if !w.closed {
		w.closed, w.err = true, err
	}
	w.mu.Unlock()
	w.signal()
}

// refusal is the error of a watch that the engine refused on the spot.
func (w *Watch) refusal() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func newEvents(from []wire.WatchEvent) []Event {
	events := make([]Event, len(from))
	for i := range from {
		e := &from[i]
		events[i] = Event{Type: e.Type, ResourceVersion: e.Item.ResourceVersion, Status: e.Status}
		if e.Type.IsChange() {
			events[i].Object = newObject(&e.Item)
		}
		events[i].InitialEventsEnd = e.Type == api.Bookmark && e.Item.Flags&api.EndOfInitialEvents != 0
	}
	return events
}
