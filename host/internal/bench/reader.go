package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
)

// reader is a real engine that is connected to a real connector. It passes each received
// message to the function take.
type reader struct {
	engine *core.Engine
	conn   *connectortest.End
	take   func(message []byte) // nil if the messages are not needed

	live, complete bool // live: the rows are complete; complete: the bodies are complete too
	rv             api.ResourceVersion
}

// clock is the current time of every engine. It never advances, so no periodic work runs.
const clock = 1

// open connects a reader to the connector and opens one collection.
func open(ctx context.Context, c *connector.Connector, resource api.Resource, t *tape) (*reader, error) {
	far, near := connectortest.Pipe()
	go c.Serve(ctx, far) // ends with ctx; the error then only reports that
	engine, err := core.New((&wire.Config{Seed: 1, Client: "bench", MaxBytes: 1 << 40}).Append(nil), nil)
	if err != nil {
		return nil, err
	}
	engine.Tick(clock)
	r := &reader{engine: engine, conn: near, take: t.snapshot}
	return r, r.step(ctx, &wire.OpenCollection{Collection: 1, Resource: resource.String(), MetadataOnly: t.metadataOnly, RowsFirst: t.rowsFirst})
}

// until receives messages and passes them to the engine until done returns true.
func (r *reader) until(ctx context.Context, done func() bool) error {
	for !done() {
		message, err := r.conn.Read(ctx)
		if err != nil {
			return err
		}
		r.take(message)
		if err := r.step(ctx, &wire.StreamData{Stream: 1, Data: message}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) step(ctx context.Context, f interface{ Append([]byte) []byte }) error {
	if err := r.engine.Step(f.Append(nil)); err != nil {
		return err
	}
	for out := r.engine.Ready(); out != nil; out = r.engine.Ready() {
		out = append([]byte(nil), out...)
		r.engine.Advance()
		for len(out) > 0 {
			t, payload, rest, err := wire.Next(out)
			if err == nil {
				err = r.carryOut(ctx, t, payload)
			}
			if err != nil {
				return err
			}
			out = rest
		}
	}
	return nil
}

func (r *reader) carryOut(ctx context.Context, t wire.Type, payload []byte) error {
	switch t {
	case wire.TypeOpenStream:
		return r.step(ctx, &wire.StreamOpened{Stream: 1})
	case wire.TypeSendStream:
		var f wire.SendStream
		if err := f.Parse(payload); err != nil {
			return err
		}
		return r.conn.Write(ctx, f.Data)
	case wire.TypeCloseStream:
		var f wire.CloseStream
		if err := f.Parse(payload); err != nil {
			return err
		}
		return fmt.Errorf("the engine closed its connection: %s", f.Message)
	case wire.TypeCollectionState:
		var f wire.CollectionState
		if err := f.Parse(payload); err != nil {
			return err
		}
		r.live, r.rv = f.State == api.StateLive, f.ResourceVersion
		r.complete = r.live && f.Bodies == f.Objects
	}
	return nil
}

// tape describes a reader and receives its messages. The function snapshot receives the
// messages up to the end of the snapshot, and the function updates receives all later
// messages. With rowsFirst, the first messages after the snapshot contain the bodies.
type tape struct {
	metadataOnly, rowsFirst bool
	snapshot, updates       func(message []byte)
}

// play runs a reader for each tape. Each reader receives the list of a world and then the
// given number of changes.
func play(ctx context.Context, w *world, changes, batch int, tapes ...tape) error {
	ctx, cancel := context.WithCancel(ctx)
	c := connector.New(connector.Config{
		Source: w, Logger: slog.New(slog.DiscardHandler),
		Limits: limit.NewSet().With(limit.WriteTimeout, int64(time.Hour)), // a reader may wait until another one has received all of its messages
	})
	defer func() {
		cancel()     // cancel first: the readers no longer read, so closing their connections would wait
		c.Close(ctx) // returns the error of the canceled context
	}()
	var readers []*reader
	for i := range tapes {
		r, err := open(ctx, c, w.schema.Resource, &tapes[i])
		if err != nil {
			return err
		}
		readers = append(readers, r)
	}
	for i, r := range readers {
		if err := r.until(ctx, func() bool { return r.live }); err != nil {
			return err
		}
		r.take = tapes[i].updates
		if tapes[i].rowsFirst {
			if err := r.until(ctx, func() bool { return r.complete }); err != nil {
				return err
			}
		}
	}
	for done := 0; done < changes; done += batch {
		if err := w.hand(ctx, batch); err != nil {
			return err
		}
		for _, r := range readers {
			if err := r.until(ctx, func() bool { return r.rv >= w.handed }); err != nil {
				return err
			}
		}
	}
	return nil
}
