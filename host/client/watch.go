package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// WatchOptions are the options of a Kubernetes watch, and some additional ones.
type WatchOptions struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
	// ResourceVersion is the version after which the watch starts. If it is empty or "0",
	// the watch starts with the existing objects, as ADDED events.
	ResourceVersion      string
	ResourceVersionMatch ResourceVersionMatch
	SendInitialEvents    *bool
	AllowWatchBookmarks  bool
	Timeout              time.Duration // in whole seconds; zero for none
	MetadataOnly         bool          // omit the objects' JSON
	Previous             bool          // deliver the previous version of the object with MODIFIED events

	// Policy selects what happens when the buffer is full. The default is Stall.
	Policy WatchPolicy
	// Buffer is the maximum number of events that wait to be read. Default 1000.
	Buffer int
}

const defaultBuffer = 1000

// WatchPolicy selects what happens when the consumer of a watch is slow.
type WatchPolicy string

const (
	// Stall pauses the watch until the buffer has room again. The watch ends with 410 if
	// the client's history, limited by Config.MaxHistory, has evicted the next event of the
	// watch by then.
	Stall WatchPolicy = "stall"
	// Terminate ends the watch with 410 when the buffer is full, as Kubernetes does. The
	// consumer may resume from the last resource version that it received. The watch also
	// ends if a relist finds that one of its objects was deleted.
	Terminate WatchPolicy = "terminate"
	// Conflate keeps only the newest state of each object.
	Conflate WatchPolicy = "conflate"
)

func (p WatchPolicy) wire() (api.Policy, error) {
	switch p {
	case "", Stall:
		return api.PolicyStall, nil
	case Terminate:
		return api.PolicyTerminate, nil
	case Conflate:
		return api.PolicyConflate, nil
	}
	return 0, api.Invalid(fmt.Sprintf("watch policy %q: must be stall, terminate, conflate or empty", string(p)))
}

// Event is one event of a watch: ADDED, MODIFIED, DELETED or BOOKMARK. [Watch.Next]
// returns an ERROR event of Kubernetes as an error.
type Event struct {
	Type   api.EventType
	Object Object // the object of an ADDED, MODIFIED or DELETED event
	// Previous is the object before the change, in MODIFIED events of a watch with
	// WatchOptions.Previous. If a conflating watch has skipped versions, Previous is the
	// version that it delivered last.
	Previous *Object
	// ResourceVersion is the version of the object or of the bookmark.
	ResourceVersion api.ResourceVersion
	// InitialEventsEnd marks the bookmark that ends the initial events.
	InitialEventsEnd bool
}

// WatchEnd is the reason why a watch ended.
type WatchEnd = api.WatchEnd

// Watch is a stream of the changes to a collection. Only one goroutine at a time may read
// its events.
type Watch struct {
	collection *Collection
	id         uint32
	open       wire.OpenWatch
	delivered  bool        // whether any event was delivered; owned by the loop
	rejected   *api.Status // owned by the loop

	mu     sync.Mutex
	queue  []Event // bounded by the credit granted to the engine
	closed bool
	end    WatchEnd
	err    error // returned by Next after the last event

	wake  chan struct{} // signals that the queue or closed has changed; has room for one signal
	taken uint32        // events read since credit was last granted; owned by the reader of events
}

// Watch starts a watch. Close the watch when done.
//
// Watch returns an error for invalid options. [Watch.Next] returns later errors,
// such as an expired resource version.
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
		if w.rejected != nil {
			return w.rejected
		}
		return nil
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
	policy, err := opts.Policy.wire()
	if err != nil {
		return wire.OpenWatch{}, err
	}
	open := wire.OpenWatch{
		Collection: c.id, Policy: policy, Namespace: opts.Namespace, LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector,
		ResourceVersion: opts.ResourceVersion, Match: match, Bookmarks: opts.AllowWatchBookmarks,
		TimeoutSeconds: uint32(min(max(opts.Timeout/time.Second, 0), math.MaxUint32)),
		Bodies:         !opts.MetadataOnly && !c.opts.MetadataOnly,
		Credit:         defaultBuffer,
		Previous:       opts.Previous,
	}
	if opts.SendInitialEvents != nil {
		open.SendInitialEvents = api.False
		if *opts.SendInitialEvents {
			open.SendInitialEvents = api.True
		}
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

// Events yields events until the watch ends. The loop ends without an error when the
// Timeout has passed. If the watch ends for another reason or ctx is done, the last
// iteration yields the error. Leaving the loop does not close the watch.
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

// Next waits for the next event. After the last event, Next returns io.EOF if the Timeout
// passed, ErrClosed if the watch or its collection was closed, and otherwise an
// *api.Status. The Cause of the status is the name of [Watch.End], unless the status has
// a more specific Cause. After a 410, list again and watch from the list's version.
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

// Buffered returns the number of events that Next returns without waiting.
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
	return Event{}, false, w.err
}

// End returns why the watch ended. While the watch runs or events are queued, ended is
// false.
func (w *Watch) End() (end WatchEnd, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end, w.closed && len(w.queue) == 0
}

// grant grants new credit to the engine once half of the credit is used, so that one
// command suffices for many events. If ctx is done first, a later call grants the credit.
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

// Close ends the watch and drops unread events.
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
	w.finish(api.WatchEndClosed, ErrClosed)
	if err == ErrClosed {
		return nil // closed together with its client
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

// finish ends the watch after the queued events. Later calls have no effect.
func (w *Watch) finish(end WatchEnd, err error) {
	w.mu.Lock()
	if !w.closed {
		w.closed, w.end, w.err = true, end, err
	}
	w.mu.Unlock()
	w.signal()
}

// closedBy ends the watch for the reason that the engine reports.
func (w *Watch) closedBy(f *wire.WatchClosed) {
	if f.Status == nil {
		w.finish(f.End, io.EOF)
		return
	}
	w.finish(f.End, f.Status)
}

// reject ends a watch that the engine refused to open.
func (w *Watch) reject(status *api.Status) {
	w.rejected = status
	w.finish(api.WatchEndRefused, status)
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
		events[i] = Event{Type: e.Type, ResourceVersion: e.Item.ResourceVersion}
		if e.Type.IsChange() {
			events[i].Object = newObject(&e.Item)
		}
		if e.Previous != nil {
			previous := newObject(e.Previous)
			events[i].Previous = &previous
		}
		events[i].InitialEventsEnd = e.Type == api.Bookmark && e.Item.Flags&api.EndOfInitialEvents != 0
	}
	return events
}
