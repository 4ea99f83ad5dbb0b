package client

import (
	"errors"
	"time"

	"github.com/watchglass/watchglass/core/wire"
)

// frame is any frame that the engine sends.
type frame interface{ Parse(payload []byte) error }

// handle processes frames of the engine. They alias the instance's memory, so it
// copies retained data and does not call the instance meanwhile. An error means that
// the output is malformed.
func (l *loop) handle(frames []byte) error {
	for len(frames) > 0 {
		t, payload, rest, err := wire.Next(frames)
		if err != nil {
			return err
		}
		frames = rest
		f := newFrame(t)
		if f == nil {
			if t < wire.Optional {
				return wire.Unknown(t)
			}
			continue
		}
		if err := f.Parse(payload); err != nil {
			return err
		}
		if patch, ok := f.(*wire.ViewPatch); ok {
			err = l.patch(patch)
		} else if !l.intent(f) && !l.delivery(f) {
			l.reply(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newFrame(t wire.Type) frame {
	switch t {
	case wire.TypeOpenStream:
		return &wire.OpenStream{}
	case wire.TypeSendStream:
		return &wire.SendStream{}
	case wire.TypeCloseStream:
		return &wire.CloseStream{}
	case wire.TypeWakeAt:
		return &wire.WakeAt{}
	case wire.TypeCollectionState:
		return &wire.CollectionState{}
	case wire.TypeCollectionSchema:
		return &wire.CollectionSchema{}
	case wire.TypeCollectionError:
		return &wire.CollectionError{}
	case wire.TypeWatchEvents:
		return &wire.WatchEvents{}
	case wire.TypeWatchClosed:
		return &wire.WatchClosed{}
	case wire.TypeViewPatch:
		return &wire.ViewPatch{}
	case wire.TypeObjectChanged:
		return &wire.ObjectChanged{}
	case wire.TypeObjectState:
		return &wire.ObjectState{}
	case wire.TypeRejected:
		return &wire.Rejected{}
	case wire.TypeObjectReply:
		return &wire.ObjectReply{}
	case wire.TypeListReply:
		return &wire.ListReply{}
	case wire.TypeInspectReply:
		return &wire.InspectReply{}
	case wire.TypeErrorReply:
		return &wire.ErrorReply{}
	case wire.TypeSnapshotChunk:
		return &wire.SnapshotChunk{}
	}
	return nil
}

// intent executes an I/O request of the engine.
func (l *loop) intent(f frame) bool {
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

// delivery routes a frame to an open resource. It drops frames for closed ones.
func (l *loop) delivery(f frame) bool {
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

// patch updates a view and grants its next patch, which the engine receives when
// it has no more output.
func (l *loop) patch(f *wire.ViewPatch) error {
	v := l.views[f.View]
	if v == nil {
		return nil
	}
	l.grants = (&wire.GrantView{View: f.View}).Append(l.grants)
	return v.apply(f)
}

func (l *loop) reply(f frame) {
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
	}
}

func (l *loop) answer(id uint32, reply frame, err error) {
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
			v.finish(f.Status)
		}
	case wire.ObjectRestore:
		if c := l.collections[f.ID]; c != nil && c.restoring != nil {
			c.restoreErr = f.Status
		}
	case wire.ObjectHandle:
		if h := l.handles[f.ID]; h != nil {
			delete(l.handles, f.ID)
			h.finish(f.Status)
		}
	}
}
