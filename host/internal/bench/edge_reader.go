package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// edgeCredit is the credit, in bytes, that the reader grants, as an engine does.
const edgeCredit = 4 << 20

// edgePatience is how long the method until waits for a reader to receive all changes.
const edgePatience = 20 * time.Second

// edgeReader is a reader that is connected to a Durable Object. It decodes only the number
// of events and their resource version.
type edgeReader struct {
	ws       *websocket.Conn
	rv       atomic.Uint64
	events   atomic.Int64
	received uint64 // bytes received since the last grant of credit
	// arrived is called for each frame of events, with its resource version and the time
	// of its arrival.
	arrived func(api.ResourceVersion, time.Time)
	closed  atomic.Bool // this side has closed the connection
	done    chan struct{}
	live    chan struct{} // closed when the snapshot is complete
}

// read connects a reader that subscribes to all pods, and returns when the reader has
// received the snapshot.
func (e *edge) read(ctx context.Context, object string, arrived func(api.ResourceVersion, time.Time)) (*edgeReader, error) {
	ws, err := e.dial(ctx, object, "watch")
	if err != nil {
		return nil, err
	}
	r := &edgeReader{ws: ws, arrived: arrived, done: make(chan struct{}), live: make(chan struct{})}
	hello := (&wire.Hello{Version: wire.Version, Client: "bench"}).Append(nil)
	hello = (&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: edgeCredit}).Append(hello)
	if err := ws.Write(ctx, websocket.MessageBinary, hello); err != nil {
		return nil, err
	}
	go func() {
		defer close(r.done)
		if err := r.run(ctx); ctx.Err() == nil && !r.closed.Load() {
			e.lose(fmt.Errorf("a reader was disconnected: %w", err))
		}
	}()
	select {
	case <-r.live:
		return r, nil
	case <-r.done:
		return nil, errors.New("the object closed the connection of a reader")
	}
}

// until waits until the reader has received everything up to a version.
func (r *edgeReader) until(rv api.ResourceVersion) error {
	for deadline := time.Now().Add(edgePatience); api.ResourceVersion(r.rv.Load()) < rv; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("a reader stopped at version %d, before %s", r.rv.Load(), rv)
		}
	}
	return nil
}

func (r *edgeReader) close() {
	r.closed.Store(true)
	r.ws.CloseNow()
	<-r.done
}

func (r *edgeReader) run(ctx context.Context) error {
	var fragments wire.Assembly
	for {
		_, message, err := r.ws.Read(ctx)
		if err == nil {
			message, err = fragments.Join(message)
		}
		if err != nil {
			return err
		}
		at := time.Now()
		if err := r.take(ctx, message, at); err != nil {
			return err
		}
	}
}

func (r *edgeReader) take(ctx context.Context, message []byte, at time.Time) error {
	for len(message) > 0 {
		t, payload, rest, err := wire.Next(message)
		if err != nil {
			return err
		}
		switch t {
		case wire.TypeSubscriptionStatus:
			var f wire.SubscriptionStatus
			if err := f.Parse(payload); err != nil {
				return err
			}
			return f.Status
		case wire.TypePing:
			var f wire.Ping
			if err := f.Parse(payload); err != nil {
				return err
			}
			if err := r.ws.Write(ctx, websocket.MessageBinary, (&wire.Pong{Mark: f.Mark}).Append(nil)); err != nil {
				return err
			}
		case wire.TypeSnapshotPart, wire.TypeSnapshotBlock, wire.TypeEvents:
			r.received += uint64(len(message) - len(rest))
		case wire.TypeSnapshotEnd:
			close(r.live)
		}
		if t == wire.TypeEvents {
			_, n := binary.Uvarint(payload)
			rv, m := binary.Uvarint(payload[n:])
			count, _ := binary.Uvarint(payload[n+m:])
			r.events.Add(int64(count))
			r.rv.Store(rv)
			r.arrived(api.ResourceVersion(rv), at)
		}
		message = rest
	}
	if r.received < edgeCredit/2 {
		return nil
	}
	credit := (&wire.Credit{Subscription: 1, Bytes: r.received}).Append(nil)
	r.received = 0
	return r.ws.Write(ctx, websocket.MessageBinary, credit)
}
