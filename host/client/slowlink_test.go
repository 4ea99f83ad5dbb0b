package client

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/backoff"
	"github.com/watchglass/watchglass/host/internal/slowlink"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/memory"
)

// incompressible returns an object of about 1.4 MB that does not compress.
func incompressible(kind, name string, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	letters := make([]byte, 1_400_000)
	for i := range letters {
		letters[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[rng.IntN(64)]
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":"default","uid":"u","annotations":{"random":%q}}}`, kind, name, letters)
}

// A client on a slow link receives large objects, of two collections at the same
// time, on its first connection.
func TestClientOnASlowLinkSyncs(t *testing.T) {
	module, cache := testModule(t), cacheDir(t) // built outside the synctest bubble
	for _, rate := range []int{16_000, 60_000, 250_000} {
		t.Run(fmt.Sprintf("%dkBps", rate/1000), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { syncSlowly(t, module, cache, rate) })
		})
	}
}

func syncSlowly(t *testing.T, module []byte, cache string, rate int) {
	configMaps := api.Resource{Version: "v1", Name: "configmaps"}
	source := memory.New()
	for i := range 2 {
		name := fmt.Sprintf("large-%d", i)
		source.Put(pods, api.NewKey("default", name), incompressible("Pod", name, uint64(i)))
		source.Put(configMaps, api.NewKey("default", name), incompressible("ConfigMap", name, uint64(i+10)))
	}
	quiet := slog.New(slog.DiscardHandler)
	c := connector.New(connector.Config{Source: source, Logger: quiet})
	s, err := server.New(server.Config{Connector: c, Logger: quiet})
	require.NoError(t, err)
	link := slowlink.Listen(rate, 256<<10)
	defer link.Wait()
	served := make(chan error, 1)
	go func() { served <- s.Serve(link) }()
	defer func() {
		assert.NoError(t, c.Close(t.Context()))
		assert.NoError(t, s.Shutdown(t.Context()))
		assert.NoError(t, <-served)
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ; ctx.Err() == nil; backoff.Sleep(ctx, 5*time.Second) {
			source.Progress()
		}
	}()

	transport := &http.Transport{DialContext: link.Dial}
	defer transport.CloseIdleConnections()
	connections := 0
	client, err := Open(t.Context(), Config{
		Module: module, CacheDir: cache, Logger: quiet,
		Dial: func(ctx context.Context) (Conn, error) {
			connections++
			ws, _, err := websocket.Dial(ctx, "ws://127.0.0.1/watch", &websocket.DialOptions{
				HTTPClient: &http.Client{Transport: transport}, Subprotocols: []string{wire.Subprotocol},
			})
			if err != nil {
				return nil, err
			}
			ws.SetReadLimit(wire.MaxMessage)
			return socket{ws}, nil
		},
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, client.Close()) }()
	begun := time.Now()
	var all []*Collection
	for _, resource := range []string{"v1/pods", "v1/configmaps"} {
		collection, err := client.Collection(t.Context(), resource, CollectionOptions{})
		require.NoError(t, err)
		all = append(all, collection)
	}
	for _, collection := range all {
		require.NoError(t, collection.WaitForSync(t.Context()))
		list, err := collection.List(t.Context(), ListOptions{})
		require.NoError(t, err)
		assert.Len(t, list.Items, 2)
	}
	assert.Equal(t, 1, connections)
	assert.InEpsilon(t, 4*1.4e6/float64(rate), time.Since(begun).Seconds(), 0.1, "every object is sent once")
}
