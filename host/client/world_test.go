package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/source/memory"
	"github.com/watchglass/watchglass/wasm/guesttest"
)

// testModule returns the module of this source tree. The frame guesttest.Fault makes it
// panic.
func testModule(t testing.TB) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: builds the wasm module first")
	}
	module, err := guesttest.Faulty()
	require.NoError(t, err)
	return module
}

// cacheDir returns the cache directory for the compiled module.
func cacheDir(t testing.TB) string {
	t.Helper()
	dir, err := guesttest.CacheDir()
	require.NoError(t, err)
	return dir
}

// world is a source, a connector that serves it, and a client of the connector,
// joined by pipes.
type world struct {
	t      *testing.T
	ctx    context.Context // ends shortly before the deadline of the test
	source *memory.Source
	*network
	client *Client
}

var pods = api.Resource{Version: "v1", Name: "pods"}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOf(t, memory.New(), nil)
}

// worldOf returns a world whose connector checks rights, unless the policy is nil.
func worldOf(t *testing.T, source *memory.Source, policy access.Policy) *world {
	t.Helper()
	w := &world{t: t, source: source}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	w.ctx = ctx
	w.network = newNetwork(t, connector.Config{Source: source, Access: policy})
	w.client = w.open(Config{})
	return w
}

func (w *world) open(config Config) *Client {
	w.t.Helper()
	config.Module, config.CacheDir, config.Dial = testModule(w.t), cacheDir(w.t), w.dial
	client, err := Open(w.ctx, config)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, client.Close()) })
	return client
}

func (w *world) put(key api.Key, phase string) api.ResourceVersion {
	return w.source.Put(pods, key, fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,"uid":"uid-%s","labels":{"app":"web","phase":%q},"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"nodeName":"n1"},"status":{"phase":%q}}`,
		key.Name(), key.Namespace(), key.Name(), phase, phase))
}

// collection returns a complete collection of all pods.
func (w *world) collection() *Collection {
	w.t.Helper()
	c, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{})
	require.NoError(w.t, err)
	require.NoError(w.t, c.WaitForSync(w.ctx))
	return c
}

// reach waits until a collection has the wanted status, and returns it.
func (w *world) reach(c *Collection, want func(Status) bool) Status {
	w.t.Helper()
	for {
		status, changed := c.StatusChange()
		if want(status) {
			return status
		}
		select {
		case <-changed:
		case <-w.ctx.Done():
			require.FailNow(w.t, "status not reached", "last: %+v", status)
		}
	}
}

func (w *world) next(watch *Watch) string {
	w.t.Helper()
	event, err := watch.Next(w.ctx)
	require.NoError(w.t, err)
	return describe(event)
}

func describe(e Event) string {
	switch e.Type {
	case api.Bookmark:
		return fmt.Sprintf("BOOKMARK %s end=%v", e.ResourceVersion, e.InitialEventsEnd)
	}
	return fmt.Sprintf("%s %s %s", e.Type, e.Object.Key(), e.ResourceVersion)
}

// poison makes the instance panic.
func (w *world) poison() {
	w.t.Helper()
	require.NoError(w.t, w.client.call(w.ctx, func(l *loop) error { return l.step(guesttest.Fault) }))
}

// network connects clients to a connector until it is cut.
type network struct {
	connector *connector.Connector
	served    sync.WaitGroup

	mu    sync.Mutex
	down  bool
	dials int
	ends  []*connectortest.End
}

func newNetwork(t *testing.T, config connector.Config) *network {
	n := &network{connector: connector.New(config)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, n.connector.Close(ctx))
		n.served.Wait()
	})
	return n
}

func (n *network) dial(context.Context) (Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials++
	if n.down {
		return nil, errors.New("network is down")
	}
	there, here := connectortest.Pipe()
	n.ends = append(n.ends, here)
	n.served.Go(func() { _ = n.connector.Serve(context.Background(), there) })
	return pipe{here}, nil
}

// cut closes every connection. If down is true, new connections fail until cut is called
// with false.
func (n *network) cut(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	for _, end := range n.ends {
		_ = end.Close(io.ErrUnexpectedEOF)
	}
	n.ends = nil
}

type pipe struct{ *connectortest.End }

func (p pipe) Close(reason string) error { return p.End.Close(errors.New(reason)) }

func synced(s Status) bool { return s.State == api.StateLive }
