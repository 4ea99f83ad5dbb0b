package recording

import (
	"context"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/client"
)

// Tap returns a connection that forwards to conn and records the subscriptions of the
// reader. Assign the method Tap to client.Config.Tap.
func (r *Recorder) Tap(conn client.Conn) client.Conn {
	return &tap{Conn: conn, recorder: r, scopes: map[uint32]Filter{}}
}

// tap records the relevant messages of one connection. It ignores malformed frames, which
// the receiver rejects.
type tap struct {
	client.Conn
	recorder *Recorder
	scopes   map[uint32]Filter // by subscription; guarded by the recorder's lock
	assembly wire.Assembly     // the start of a fragmented message
}

func (t *tap) Write(ctx context.Context, message []byte) error {
	frames(message, func(kind wire.Type, payload []byte) {
		var f wire.Subscribe
		if kind == wire.TypeSubscribe && f.Parse(payload) == nil {
			t.subscribed(&f)
		}
	})
	return t.Conn.Write(ctx, message)
}

func (t *tap) subscribed(f *wire.Subscribe) {
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	scope := Filter{string([]byte(f.Namespace)), string([]byte(f.LabelSelector)), string([]byte(f.FieldSelector))}
	t.scopes[f.Subscription] = scope
	r.append(&Line{Kind: kindSubscribe, Scope: &scope, ResourceVersion: f.ResourceVersion, NotOlderThan: f.NotOlderThan})
}

func (t *tap) Read(ctx context.Context) ([]byte, error) {
	message, err := t.Conn.Read(ctx)
	t.received(message)
	return message, err
}

func (t *tap) received(message []byte) {
	message, err := t.assembly.Join(message)
	if err != nil {
		return // the reader rejects the message
	}
	frames(message, func(kind wire.Type, payload []byte) {
		var schema wire.Schema
		var end wire.SnapshotEnd
		switch {
		case kind == wire.TypeSchema && schema.Parse(payload) == nil:
			t.recorder.identify(string([]byte(schema.ClusterID)))
		case kind == wire.TypeSnapshotEnd && end.Parse(payload) == nil:
			t.listed(&end)
		}
	})
}

func (t *tap) listed(f *wire.SnapshotEnd) {
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if scope, ok := t.scopes[f.Subscription]; ok {
		r.append(&Line{Kind: kindSnapshot, Scope: &scope, ResourceVersion: f.ResourceVersion})
	}
}

func frames(message []byte, f func(wire.Type, []byte)) {
	for len(message) > 0 {
		kind, payload, rest, err := wire.Next(message)
		if err != nil {
			return
		}
		f(kind, payload)
		message = rest
	}
}
