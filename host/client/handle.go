package client

import (
	"errors"
	"time"

	"github.com/watchglass/watchglass/core/wire"
)

// handle processes frames of the engine. The frames alias the instance's memory, so
// handle copies the data that it retains and does not call the instance. An error means
// that the output is malformed.
func (l *loop) handle(frames []byte) error {
	return wire.FromEngine.Each(frames, func(t wire.Type, f wire.Frame) error {
		if patch, ok := f.(*wire.ViewPatch); ok {
			return l.patch(patch)
		}
		if l.intent(f) || l.delivery(f) || l.reply(f) {
			return nil
		}
		return wire.Unknown(t)
	})
}

// intent performs the I/O that the engine requests. It reports whether the frame is an
// intent.
func (l *loop) intent(f wire.Frame) bool {
	switch f := f.(type) {
	case *wire.OpenStream:
		l.startStream(f.Stream)
	case *wire.SendStream:
		if s := l.streams[f.Stream]; s != nil {
			s.send(append([]byte(nil), f.Data...))
		}
	case *wire.CloseStream:
		if s := l.streams[f.Stream]; s != nil {
			delete(l.streams, f.Stream)
			s.end(errors.New(f.Message))
		}
	case *wire.WakeAt:
		l.wake = time.Time{}
		if f.Millis > 0 {
			l.wake = time.UnixMilli(f.Millis)
		}
	default:
		return false
	}
	return true
}

// delivery routes a frame to an open resource and drops frames for closed ones. It
// reports whether the frame is a delivery.
func (l *loop) delivery(f wire.Frame) bool {
	switch f := f.(type) {
	case *wire.CollectionState:
		if c := l.collections[f.Collection]; c != nil {
			c.state(f)
		}
	case *wire.CollectionSchema:
		if c := l.collections[f.Collection]; c != nil {
			c.schema.set(f.Schema)
		}
	case *wire.CollectionError:
		if c := l.collections[f.Collection]; c != nil {
			c.fault(l.config.Logger, f)
		}
	case *wire.WatchEvents:
		if w := l.watches[f.Watch]; w != nil {
			w.delivered = true
			w.push(newEvents(f.Events))
		}
	case *wire.WatchClosed:
		if w := l.watches[f.Watch]; w != nil {
			delete(l.watches, f.Watch)
			w.closedBy(f)
		}
	case *wire.ObjectChanged:
		if h := l.handles[f.Handle]; h != nil {
			h.changed(f)
		}
	case *wire.ObjectState:
		if h := l.handles[f.Handle]; h != nil {
			h.state(f)
		}
	case *wire.Rejected:
		l.rejected(f)
	default:
		return false
	}
	return true
}

// patch updates a view and queues the grant for the next patch of the view. The engine
// receives the grant when it has no more output.
func (l *loop) patch(f *wire.ViewPatch) error {
	v := l.views[f.View]
	if v == nil {
		return nil
	}
	l.grants = (&wire.GrantView{View: f.View}).Append(l.grants)
	return v.apply(f)
}

// reply completes the request that a frame answers. It reports whether the frame is a
// reply.
func (l *loop) reply(f wire.Frame) bool {
	switch f := f.(type) {
	case *wire.ObjectReply:
		l.answer(f.Request, f, nil)
	case *wire.ListReply:
		l.answer(f.Request, f, nil)
	case *wire.InspectReply:
		l.answer(f.Request, f, nil)
	case *wire.SnapshotChunk:
		l.answer(f.Request, f, nil)
	case *wire.ErrorReply:
		l.answer(f.Request, nil, f.Status)
	default:
		return false
	}
	return true
}

func (l *loop) answer(id uint32, reply wire.Frame, err error) {
	p := l.requests[id]
	if p == nil {
		return
	}
	delete(l.requests, id)
	if err == nil {
		p.take(reply)
	}
	p.done <- err
}

// rejected ends a resource that the engine refused to open.
func (l *loop) rejected(f *wire.Rejected) {
	switch f.Object {
	case wire.ObjectCollection:
		if c := l.collections[f.ID]; c != nil {
			l.dropCollection(c, f.Status)
		}
	case wire.ObjectWatch:
		if w := l.watches[f.ID]; w != nil {
			delete(l.watches, f.ID)
			w.reject(f.Status)
		}
	case wire.ObjectView:
		if v := l.views[f.ID]; v != nil {
			delete(l.views, f.ID)
			v.newest.finish(f.Status)
		}
	case wire.ObjectRestore:
		if c := l.collections[f.ID]; c != nil && c.restoring != nil {
			c.restoreErr = f.Status
		}
	case wire.ObjectHandle:
		if h := l.handles[f.ID]; h != nil {
			delete(l.handles, f.ID)
			h.newest.finish(f.Status)
		}
	}
}
