package client

import (
	"cmp"
	"context"
	"iter"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// ObjectOptions configure a reference to an object. The zero value keeps the object up
// to date.
type ObjectOptions struct {
	// Owner names the holder of the reference, for inspection. It may be empty.
	Owner string
	// OnDemand disables Current and Changes. Only Get reads the object, and the watch of
	// the object stops after five minutes without a Get.
	OnDemand bool
}

// ObjectSnapshot is the known state of an object at one point in time. It is
// immutable.
type ObjectSnapshot struct {
	// State reports how current the other fields are. The other fields remain valid in
	// every state.
	State api.State
	Err   error // the reason for the state, if it has one
	// Known is false until the client knows whether the object exists.
	Known           bool
	Object          *Object             // nil if the object does not exist
	ResourceVersion api.ResourceVersion // Object is current at this version; the version of Object may be older
}

// ObjectHandle is a reference to one object. The object is kept up to date while a
// reference exists. If an open collection contains the object, that collection serves
// the reference. Otherwise the reference has its own watch.
type ObjectHandle struct {
	client  *Client
	acquire wire.AcquireObject
	newest  snapshots[ObjectSnapshot]
}

// Object acquires a reference to an object, given by a resource such as "v1/configmaps"
// and a key such as "ns/name". It does not wait for data. Close the handle when done. A
// handle that is not closed keeps its reference until the client closes.
func (c *Client) Object(ctx context.Context, resource string, key api.Key, opts ObjectOptions) (*ObjectHandle, error) {
	h := &ObjectHandle{client: c, acquire: wire.AcquireObject{
		Resource: resource, Key: key, Owner: opts.Owner, OnDemand: opts.OnDemand,
	}}
	h.newest.replace(&ObjectSnapshot{})
	err := c.call(ctx, func(l *loop) error {
		h.acquire.Handle = l.newID()
		l.handles[h.acquire.Handle] = h
		if err := l.step(h.command()); err != nil {
			delete(l.handles, h.acquire.Handle)
			return err
		}
		state, _ := h.newest.get()
		return state.err // the engine refused the reference immediately
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (h *ObjectHandle) command() []byte { return h.acquire.Append(nil) }

// Get returns the current object. It waits up to a second for the object's current state.
// It returns a 404 *api.Status if the object does not exist.
func (h *ObjectHandle) Get(ctx context.Context) (Object, error) {
	if state, _ := h.newest.get(); state.closed {
		return Object{}, state.err
	}
	var object Object
	err := h.client.request(ctx, func(id uint32) []byte {
		return (&wire.GetObject{Request: id, Resource: h.acquire.Resource, Key: h.acquire.Key}).Append(nil)
	}, func(reply any) { object = newObject(&reply.(*wire.ObjectReply).Item) })
	if err != nil {
		return Object{}, err
	}
	return object, nil
}

// Current returns the latest snapshot.
func (h *ObjectHandle) Current() *ObjectSnapshot {
	state, _ := h.newest.get()
	return state.snapshot
}

// Changes yields the known state and a new snapshot for every change. A slow consumer
// skips intermediate snapshots. The loop ends with an error: ErrClosed, the refusal of
// the object, or the error of ctx.
func (h *ObjectHandle) Changes(ctx context.Context) iter.Seq2[*ObjectSnapshot, error] {
	return h.newest.all(ctx)
}

// Close releases the reference. The last known state stays readable.
func (h *ObjectHandle) Close() error {
	err := h.client.call(context.Background(), func(l *loop) error {
		if l.handles[h.acquire.Handle] == nil {
			return nil
		}
		delete(l.handles, h.acquire.Handle)
		return l.step((&wire.ReleaseObject{Handle: h.acquire.Handle}).Append(nil))
	})
	h.newest.finish(ErrClosed)
	if err == ErrClosed {
		return nil // closed together with its client
	}
	return err
}

// change replaces the snapshot with a copy that f has modified.
func (h *ObjectHandle) change(f func(*ObjectSnapshot)) {
	h.newest.update(func(s *state[ObjectSnapshot]) {
		next := *s.snapshot
		f(&next)
		s.snapshot = &next
	})
}

func (h *ObjectHandle) changed(f *wire.ObjectChanged) {
	var object *Object
	if f.Item != nil {
		o := newObject(f.Item)
		object = &o
	}
	h.change(func(s *ObjectSnapshot) { s.Known, s.Object, s.ResourceVersion = true, object, f.ResourceVersion })
}

// state updates the snapshot from the state that the engine reports. A closed object has
// failed permanently.
func (h *ObjectHandle) state(f *wire.ObjectState) {
	var err error
	if f.Status != nil {
		err = f.Status
	}
	h.change(func(s *ObjectSnapshot) { s.State, s.Err = f.State, err })
	if f.State == api.StateClosed {
		h.newest.finish(cmp.Or(err, error(ErrClosed)))
	}
}

// restarting sets the state that applies until a new engine has acquired the object.
func (h *ObjectHandle) restarting(err error) {
	h.change(func(s *ObjectSnapshot) { s.State, s.Err = api.StateReconnecting, err })
}
