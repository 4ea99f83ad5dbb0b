//go:build unix

package main

import (
	"context"
	"slices"
	"sync"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/recording"
)

// recorders passes the messages of a client to the recorder of the current round. A
// connection of the client may stay open for several rounds.
type recorders struct {
	mu      sync.Mutex
	current *recording.Recorder
}

func (r *recorders) use(next *recording.Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = next
}

func (r *recorders) tap(conn client.Conn) client.Conn { return &relay{Conn: conn, to: r} }

// relay is a connection that also passes its messages to the current recorder. A new
// recorder first receives the earlier messages that opened the existing subscriptions.
type relay struct {
	client.Conn
	to         *recorders
	known      *recording.Recorder // the recorder that created tap
	tap        client.Conn
	sent       [][]byte
	replayable message
}

// message is a connection whose Read returns the given content. A tap that reads from it records
// the content.
type message struct {
	client.Conn
	content []byte
}

func (m *message) Read(context.Context) ([]byte, error) { return m.content, nil }
func (m *message) Write(context.Context, []byte) error  { return nil }

// follow calls f with the tap of the current recorder, if there is a recorder. The caller
// holds the lock of the recorders.
func (r *relay) follow(ctx context.Context, f func(tap client.Conn)) {
	if r.to.current == nil {
		return
	}
	if r.known != r.to.current {
		r.known, r.tap = r.to.current, r.to.current.Tap(&r.replayable)
		for _, m := range r.sent {
			_ = r.tap.Write(ctx, m)
		}
	}
	f(r.tap)
}

func (r *relay) Read(ctx context.Context) ([]byte, error) {
	content, err := r.Conn.Read(ctx)
	if err == nil {
		r.to.mu.Lock()
		defer r.to.mu.Unlock()
		r.follow(ctx, func(tap client.Conn) {
			r.replayable.content = content
			_, _ = tap.Read(ctx)
		})
	}
	return content, err
}

func (r *relay) Write(ctx context.Context, content []byte) error {
	r.to.mu.Lock()
	r.follow(ctx, func(tap client.Conn) { _ = tap.Write(ctx, content) })
	if subscribes(content) {
		r.sent = append(r.sent, slices.Clone(content))
	}
	r.to.mu.Unlock()
	return r.Conn.Write(ctx, content)
}

func subscribes(content []byte) bool {
	for len(content) > 0 {
		kind, _, rest, err := wire.Next(content)
		if err != nil || kind == wire.TypeSubscribe {
			return err == nil
		}
		content = rest
	}
	return false
}
