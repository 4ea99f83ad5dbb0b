package connector

import (
	"context"
	"io"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/host/kubeapi"
)

const (
	// maxPending is the maximum number of events that wait for the client of a watch, in
	// addition to the events in the cacher's queue. Waiting events are not copies: they
	// refer to versions in the arena, which all watches share.
	maxPending = 1000
	// maxTaken is the maximum number of events that Next decodes and returns at a time.
	maxTaken = 100
	// maxIdle is the maximum capacity, in events, that an idle watch keeps allocated.
	maxIdle = 16
)

// watch is a watch of the Kubernetes API. Under the lock, the cacher appends events to
// pending, and the request's goroutine removes them. That goroutine decodes the events
// without the lock.
type watch struct {
	col  *collection
	wake chan struct{} // capacity 1; signals that pending may have events

	// Guarded by connector.mu.
	evaluator                  // meters the selectors
	watcher   *watcher.Watcher // nil until the watch has started
	pending   []watcher.Delivery
	status    *api.Status // why the watch ended
	closed    bool
}

// Watch implements kubeapi.Backend.
func (b backend) Watch(ctx context.Context, resource api.Resource, o kubeapi.WatchOptions) (kubeapi.Watch, error) {
	col, err := b.hold(ctx, resource)
	if err != nil {
		return nil, err
	}
	w := &watch{col: col, wake: make(chan struct{}, 1)}
	var status *api.Status
	col.request(func(c *cacher.Cacher) {
		col.connector.use(&w.evaluator, o.Client, o.Selection)
		status = c.Watch(cacher.WatchOptions{
			Namespace: o.Namespace, Selection: o.Selection,
			ResourceVersion: o.ResourceVersion, Match: o.Match, SendInitialEvents: o.SendInitialEvents,
			Bookmarks: o.Bookmarks, TimeoutSeconds: o.TimeoutSeconds, Sink: w.take, Closed: w.signal, Meter: &w.meter, Exhausted: w.signal,
		}, w.started)
	})
	if status != nil {
		w.Close()
		return nil, status
	}
	return w, nil
}

// started stores the watcher, or the status if the watch was refused. The caller holds the
// lock.
func (w *watch) started(started *watcher.Watcher, status *api.Status) {
	switch {
	case status != nil:
		w.status = status
	case w.closed:
		w.col.cacher.Watches().Stop(started)
	default:
		w.watcher = started
	}
	w.signal()
}

// take is the watcher's sink. It reports whether it accepts the delivery, which requires
// room in pending. The caller holds the lock.
func (w *watch) take(d watcher.Delivery) bool {
	if w.closed || len(w.pending) >= maxPending {
		return false
	}
	w.pending = append(w.pending, d)
	w.signal()
	return true
}

func (w *watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Next implements kubeapi.Watch.
func (w *watch) Next(ctx context.Context) ([]kubeapi.Event, error) {
	for {
		taken, wait, err := w.next()
		if err != nil {
			return nil, err
		}
		if len(taken) > 0 {
			return open(taken)
		}
		var granted <-chan time.Time
		if wait > 0 {
			granted = time.After(wait)
		}
		select {
		case <-w.wake:
		case <-granted:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.col.gone:
			return nil, io.EOF
		case <-w.col.connector.stopping.Done():
			return nil, io.EOF
		}
	}
}

// taken is an event whose object has not been decoded yet.
type taken struct {
	kubeapi.Event
	object *stored
}

// next removes and returns pending events, which makes room for more. If the watcher
// needs evaluations, next returns how long to wait for them. It does not reset the
// collection's timer, because removing events changes no deadline.
func (w *watch) next() (events []taken, wait time.Duration, err error) {
	c := w.col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.watcher != nil && w.watcher.Starved() {
		if wait = c.evaluate(&w.evaluator); wait == 0 {
			w.run()
		}
	}
	n := min(len(w.pending), maxTaken)
	switch {
	case n > 0:
		events = make([]taken, n)
		for i, d := range w.pending[:n] {
			events[i] = takeOut(w.col.cacher, d)
		}
		w.pending = w.pending[:copy(w.pending, w.pending[n:])]
		if len(w.pending) == 0 && cap(w.pending) > maxIdle {
			w.pending = nil
		}
		w.run()
		return events, 0, nil
	case w.status != nil:
		return nil, 0, w.status
	case w.watcher != nil && w.watcher.Finished():
		if w.status = w.watcher.Status(); w.status != nil {
			return nil, 0, w.status
		}
		return nil, 0, io.EOF
	}
	return nil, wait, nil
}

// run lets the watcher append events to pending while there is room. The caller holds the
// lock.
func (w *watch) run() {
	if w.watcher != nil {
		w.watcher.Run()
		w.col.cacher.Watches().Resume()
	}
	w.signal() // there may be more events, or the watch may have ended
}

// takeOut copies a delivery and releases its reference. The caller holds the lock.
func takeOut(c *cacher.Cacher, d watcher.Delivery) taken {
	t := taken{Event: kubeapi.Event{
		Type: d.Type, ResourceVersion: d.ResourceVersion, InitialEventsEnd: d.Flags&api.EndOfInitialEvents != 0,
	}}
	if d.Content != 0 {
		t.object = copyVersion(c, d.Content, d.ResourceVersion)
		c.Arena().Release(d.Content)
	}
	return t
}

// open decodes the objects of the events. If it cannot decode an object, it returns an
// error and no events (rule E20).
func open(taken []taken) ([]kubeapi.Event, error) {
	events := make([]kubeapi.Event, len(taken))
	for i := range taken {
		events[i] = taken[i].Event
		if taken[i].object == nil {
			continue
		}
		var err error
		if events[i].Object, err = taken[i].object.open(); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// Close implements kubeapi.Watch.
func (w *watch) Close() {
	defer w.col.release()
	c := w.col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	w.closed = true
	c.leaveAllowance(w.allowance)
	if w.watcher != nil {
		w.col.cacher.Watches().Stop(w.watcher)
	}
	for _, d := range w.pending {
		w.col.cacher.Arena().Release(d.Content)
	}
	w.pending = nil
}
