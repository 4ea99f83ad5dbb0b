package edge

import (
	"context"
	"io"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// Watch implements kubeapi.Backend.
func (b *backend) Watch(ctx context.Context, resource api.Resource, o kubeapi.WatchOptions) (kubeapi.Watch, error) {
	object, status := b.cluster.objectFor(resource.String(), o.Namespace)
	if status != nil {
		return nil, status
	}
	frame := wire.OpenWatch{
		Namespace: o.Namespace, LabelSelector: o.Selection.Labels.String(), FieldSelector: o.Selection.Fields.String(),
		ResourceVersion: o.ResourceVersion, Match: o.Match, SendInitialEvents: o.SendInitialEvents,
		Bookmarks: o.Bookmarks, TimeoutSeconds: o.TimeoutSeconds, Bodies: true, Policy: api.PolicyTerminate,
	}
	// The watch outlives the context of the call. Close ends the watch.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r, err := b.request(ctx, object, "command", command(resource, frame.Append(nil)))
	if err != nil {
		cancel()
		return nil, err
	}
	return newWatch(r, cancel), nil
}

// watch is a watch that a Durable Object serves.
type watch struct {
	reply  *reply
	cancel context.CancelFunc
	taken  chan taken    // from read to Next
	closed chan struct{} // closed by Close
}

// taken contains the events of one frame.
type taken struct {
	events []kubeapi.Event
	err    error // ends the watch after the events; nil if the watch continues
}

func newWatch(r *reply, cancel context.CancelFunc) *watch {
	w := &watch{reply: r, cancel: cancel, taken: make(chan taken), closed: make(chan struct{})}
	go w.read() // until Close ends the stream
	return w
}

func (w *watch) read() {
	for {
		events, err := w.frame()
		if len(events) == 0 && err == nil {
			continue
		}
		select {
		case w.taken <- taken{events, err}:
		case <-w.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// frame reads one frame and returns its events, or the error that ends the watch.
func (w *watch) frame() ([]kubeapi.Event, error) {
	t, payload, err := w.reply.next()
	var frame wire.WatchEvents
	var last wire.WatchClosed
	switch {
	case err != nil:
	case t == wire.TypeWatchClosed:
		if err = last.Parse(payload); err == nil {
			return nil, ended(&last)
		}
	case t != wire.TypeWatchEvents:
		err = wire.Unknown(t)
	default:
		err = frame.Parse(payload)
	}
	if err != nil {
		return nil, unanswered(w.reply.object, broken(err))
	}
	events := make([]kubeapi.Event, len(frame.Events))
	for i := range frame.Events {
		if events[i], err = event(&frame.Events[i]); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// ended returns the status that ended a watch, or io.EOF if the watch ended normally.
func ended(last *wire.WatchClosed) error {
	if last.Status != nil {
		return last.Status
	}
	return io.EOF
}

func event(e *wire.WatchEvent) (kubeapi.Event, error) {
	event := kubeapi.Event{
		Type: e.Type, ResourceVersion: e.Item.ResourceVersion,
		InitialEventsEnd: e.Item.Flags&api.EndOfInitialEvents != 0,
	}
	if !e.Type.IsChange() {
		return event, nil
	}
	var err error
	event.Object, err = open(e.Item)
	return event, err
}

// Next implements kubeapi.Watch.
func (w *watch) Next(ctx context.Context) ([]kubeapi.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case t := <-w.taken:
		return t.events, t.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements kubeapi.Watch.
func (w *watch) Close() {
	close(w.closed)
	w.cancel()
	w.reply.Close()
}
