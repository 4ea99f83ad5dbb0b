package storage

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	upstream "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/flowcontrol"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/client"
)

// queue is the maximum number of undelivered events, as in the library. The suites count
// these events.
const queue = 10

// Watch implements storage.Interface.
func (a *adapter) Watch(ctx context.Context, key string, opts upstream.ListOptions) (watch.Interface, error) {
	s, err := a.scope(key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	label, field := s.selectors(opts.Predicate)
	o := client.WatchOptions{
		Namespace: s.namespace, LabelSelector: label, FieldSelector: field,
		ResourceVersion: opts.ResourceVersion, SendInitialEvents: opts.SendInitialEvents,
		AllowWatchBookmarks: opts.Predicate.AllowWatchBookmarks, Buffer: queue, Policy: client.Terminate,
	}
	if o.SendInitialEvents != nil {
		o.ResourceVersionMatch = client.NotOlderThan
		if o.ResourceVersion == "" { // rule C12
			if o.ResourceVersion, err = a.newest(ctx); err != nil {
				return nil, err
			}
		}
	}
	if deadline, ok := ctx.Deadline(); ok {
		o.Timeout = time.Until(deadline).Round(time.Second)
	}
	started, err := a.collection().Watch(ctx, o)
	if ctx.Err() != nil {
		return watch.NewEmptyWatch(), nil
	}
	if err != nil {
		return refused(err)
	}
	flowcontrol.WatchInitialized(ctx) // the initial events are in the queue (W39)
	ctx, cancel := context.WithCancel(ctx)
	w := &watching{
		watch: started, cancel: cancel, result: make(chan watch.Event, queue),
		marksEnd: opts.SendInitialEvents != nil,
	}
	go w.run(ctx)
	return w, nil
}

// refused returns the result of a watch that could not start: an error for an invalid
// request, and otherwise a watch with the error as its only event (C8).
func refused(err error) (watch.Interface, error) {
	err = statusError(err)
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Code == http.StatusBadRequest || status.ErrStatus.Code == http.StatusUnprocessableEntity {
		return nil, err
	}
	result := make(chan watch.Event, 1)
	result <- watch.Event{Type: watch.Error, Object: &status.ErrStatus}
	close(result)
	return watch.NewProxyWatcher(result), nil
}

// watching adapts a watch of the module to the interface of Kubernetes.
type watching struct {
	watch    *client.Watch
	cancel   context.CancelFunc
	result   chan watch.Event
	marksEnd bool
}

// ResultChan implements watch.Interface.
func (w *watching) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface. The consumer can still read events that are in the
// channel (W9).
func (w *watching) Stop() { w.cancel() }

func (w *watching) run(ctx context.Context) {
	defer close(w.result)
	defer w.watch.Close()
	defer w.cancel()
	for {
		e, err := w.watch.Next(ctx)
		if err != nil {
			w.fail(ctx, err)
			return
		}
		if e.InitialEventsEnd && !w.marksEnd {
			continue
		}
		select {
		case w.result <- event(e):
		case <-ctx.Done():
			return
		}
	}
}

// fail ends a watch as kube-apiserver does. If the consumer was slow, or changes overtook
// the initial events, the watch ends without an event (W13, W33). Otherwise, fail sends an
// ERROR event for a status.
func (w *watching) fail(ctx context.Context, err error) {
	var status *api.Status
	if end, _ := w.watch.End(); !errors.As(err, &status) || end == api.WatchEndSlowConsumer || end == api.WatchEndOvertaken {
		return
	}
	select {
	case w.result <- failure(status):
	case <-ctx.Done():
	}
}

func event(e client.Event) watch.Event {
	switch e.Type {
	case api.Bookmark:
		mark := &example.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(uint64(e.ResourceVersion), 10)}}
		if e.InitialEventsEnd {
			mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		}
		return watch.Event{Type: watch.Bookmark, Object: mark}
	}
	pod, err := decode(e.Object)
	if err != nil {
		return failure(api.Internal(err.Error()))
	}
	return watch.Event{Type: watch.EventType(e.Type.String()), Object: pod}
}

func failure(s *api.Status) watch.Event {
	return watch.Event{Type: watch.Error, Object: &statusError(s).(*apierrors.StatusError).ErrStatus}
}
