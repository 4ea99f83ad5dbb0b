package client

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/source/memory"
)

// gate is a connection that delivers messages only while the test allows it. Each
// function in wanted opens the gate until a message contains a frame for which the
// function returns true. That message is the last one that passes.
type gate struct {
	Conn
	wanted    chan func(wire.Frame) bool
	requested chan api.Key // keys of the processed requests for bodies
	closed    chan struct{}
	bodies    atomic.Uint64 // bodies that have passed

	open func(wire.Frame) bool // nil while the gate is closed
}

func newGate(conn Conn) *gate {
	return &gate{
		Conn: conn, wanted: make(chan func(wire.Frame) bool, 1),
		requested: make(chan api.Key, 10), closed: make(chan struct{}),
	}
}

func (g *gate) Read(ctx context.Context) ([]byte, error) {
	if g.open == nil {
		select {
		case g.open = <-g.wanted:
		case <-g.closed:
			return nil, io.EOF
		}
	}
	message, err := g.Conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	last := false
	err = wire.FromConnector.Each(message, func(_ wire.Type, f wire.Frame) error {
		if f, ok := f.(*wire.SnapshotBodies); ok {
			g.bodies.Add(uint64(f.Objects))
		}
		last = g.open(f) || last
		return nil
	})
	if last {
		g.open = nil
	}
	return message, err
}

// Write repeats each request for a body. The connector has processed a request when it
// reads the repetition, which it ignores.
func (g *gate) Write(ctx context.Context, message []byte) error {
	if err := g.Conn.Write(ctx, message); err != nil {
		return err
	}
	return wire.FromReader.Each(message, func(_ wire.Type, f wire.Frame) error {
		request, ok := f.(*wire.RequestBody)
		if !ok {
			return nil
		}
		if err := g.Conn.Write(ctx, request.Append(nil)); err != nil {
			return err
		}
		g.requested <- api.Key(string([]byte(request.Key)))
		return nil
	})
}

func (g *gate) Close(reason string) error {
	close(g.closed)
	return g.Conn.Close(reason)
}

// newGatedWorld returns a world whose client connects through gates.
func newGatedWorld(t *testing.T) (*world, <-chan *gate) {
	t.Helper()
	w := &world{t: t, source: memory.New()}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	w.ctx, w.network = ctx, newNetwork(t, connector.Config{Source: w.source})
	gates := make(chan *gate, 10)
	w.client = w.open(Config{Tap: func(conn Conn) Conn {
		g := newGate(conn)
		gates <- g
		return g
	}})
	return w, gates
}

// large returns pods that do not compress, so that their bodies need many messages.
func large(n int) []string {
	rng := rand.NewChaCha8([32]byte{})
	all := make([]string, n)
	for i := range all {
		var random [1000]byte
		rng.Read(random[:])
		all[i] = fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%03d","namespace":"default","uid":"u","annotations":{"random":"%x"}},"status":{"phase":"Running"}}`, i, random)
	}
	return all
}

var resourceVersion = regexp.MustCompile(`"resourceVersion":"\d+",`)

// withoutVersion returns the JSON of an object without its resource version.
func withoutVersion(o *Object) string { return string(resourceVersion.ReplaceAll(o.JSON(), nil)) }

// A collection that requested rows first is live, and its views and lists of rows are
// complete, while bodies are pending. Get returns a complete object before the other
// bodies have arrived (rules B28 and B30).
func TestRowsAreCompleteBeforeTheBodies(t *testing.T) {
	w, gates := newGatedWorld(t)
	const objects, key = 500, api.Key("default/pod-499") // the last body in key order
	all := large(objects)
	for i, pod := range all {
		w.source.Put(pods, api.NewKey("default", fmt.Sprintf("pod-%03d", i)), []byte(pod))
	}
	c, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{RowsFirst: true})
	require.NoError(t, err)
	g := <-gates

	g.wanted <- func(f wire.Frame) bool { _, end := f.(*wire.SnapshotEnd); return end }
	require.NoError(t, c.WaitForSync(w.ctx))
	status := c.Status()
	require.Equal(t, api.StateLive, status.State)
	require.EqualValues(t, objects, status.Objects)
	require.Less(t, status.Bodies, status.Objects)
	list, err := c.List(w.ctx, ListOptions{MetadataOnly: true})
	require.NoError(t, err)
	require.Len(t, list.Items, objects)
	refusals := 0
	for _, err := range c.Snapshot(w.ctx, SnapshotOptions{}) {
		require.ErrorContains(t, err, "the collection lacks bodies: take the snapshot when all have arrived")
		refusals++
	}
	require.Equal(t, 1, refusals)
	view, err := c.View(w.ctx, ViewOptions{Sort: "-name", Limit: 2, Facets: []string{"status.phase"}})
	require.NoError(t, err)
	for snapshot, err := range view.Snapshots(w.ctx) {
		require.NoError(t, err)
		if snapshot.Total > 0 {
			require.Equal(t, "pod-499 pod-498 of 500", rows(snapshot))
			require.Equal(t, []Count{{"Running", objects}}, snapshot.Facets[0].Values)
			break
		}
	}

	var object Object
	got := make(chan error, 1)
	go func() {
		var err error
		object, err = c.Get(w.ctx, key)
		got <- err
	}()
	select {
	case requested := <-g.requested:
		require.Equal(t, key, requested)
	case err := <-got:
		require.Fail(t, "Get has not requested the body", "%v", err)
	}
	g.wanted <- func(f wire.Frame) bool {
		bodies, ok := f.(*wire.SnapshotBodies)
		return ok && bodies.First == key
	}
	require.NoError(t, <-got)
	require.Equal(t, key, object.Key())
	require.JSONEq(t, all[objects-1], withoutVersion(&object))
	require.Less(t, g.bodies.Load(), uint64(objects), "the requested body passes before others")

	g.wanted <- func(wire.Frame) bool { return false }
	w.reach(c, func(s Status) bool { return s.Bodies == objects })
	list, err = c.List(w.ctx, ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, objects)
	for i := range list.Items {
		require.JSONEq(t, all[i], withoutVersion(&list.Items[i]))
	}
}
