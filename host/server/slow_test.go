package server_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
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
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/internal/listen"
	"github.com/watchglass/watchglass/host/internal/slowlink"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/memory"
)

// incompressible returns an object of about 1.4 MB that does not compress.
func incompressible(name string, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	letters := make([]byte, 1_400_000)
	for i := range letters {
		letters[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[rng.IntN(64)]
	}
	return fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"default","uid":"u","annotations":{"random":%q}}}`, name, letters)
}

// Two objects of 1.4 MB take three minutes at 16 kB/s. The reader receives both objects,
// and its connection stays open.
func TestReaderOnASlowLinkStaysConnected(t *testing.T) {
	for _, rate := range []int{16_000, 60_000, 250_000} {
		t.Run(fmt.Sprintf("%dkBps", rate/1000), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { readSlowly(t, rate) })
		})
	}
}

func readSlowly(t *testing.T, rate int) {
	source := memory.New()
	for i := range 2 {
		name := fmt.Sprintf("large-%d", i)
		source.Put(pods, api.NewKey("default", name), incompressible(name, uint64(i)))
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
	transport := &http.Transport{DialContext: link.Dial}
	defer transport.CloseIdleConnections()
	ws, _, err := websocket.Dial(t.Context(), "ws://127.0.0.1/watch", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, Subprotocols: []string{wire.Subprotocol},
	})
	require.NoError(t, err)
	defer ws.CloseNow()
	reader := connectortest.NewReader(connectortest.Over(ws))
	require.NoError(t, reader.Hello(t.Context(), ""))
	begun := time.Now()
	sub, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
	require.NoError(t, err)
	require.NoError(t, reader.UntilSynced(t.Context(), sub))
	assert.Len(t, sub.Objects, 2)
	assert.Greater(t, time.Since(begun).Seconds(), 2*1_000_000/float64(rate), "the link was slow")

	// An idle connection that answers pings stays open.
	last := make(chan api.ResourceVersion, 1)
	time.AfterFunc(10*time.Minute, func() {
		last <- source.Put(pods, api.NewKey("default", "another"), []byte(`{"metadata":{"name":"another","namespace":"default","uid":"u"}}`))
	})
	require.NoError(t, reader.Until(t.Context(), func() bool { return len(sub.Objects) == 3 }))
	assert.Equal(t, <-last, sub.ResourceVersion)
}

// A reader behind a slow proxy stays connected, although the WebSocket library would
// close the connection five seconds after the first ping. The test uses a real proxy
// and real sockets.
func TestReaderBehindASlowProxyStaysConnected(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: transfers 2.8 MB at 400 kB/s")
	}
	r := start(t, server.Config{PingInterval: time.Second})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	guarded := listen.Guard(listener, slog.New(slog.DiscardHandler))
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(guarded) }()
	t.Cleanup(func() {
		assert.NoError(t, guarded.Close())
		assert.ErrorIs(t, <-served, net.ErrClosed)
	})

	proxy, err := slowlink.Forward(listener.Addr().String(), 400_000, 0)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)

	for i := range 2 {
		name := fmt.Sprintf("large-%d", i)
		r.source.Put(pods, api.NewKey("default", name), incompressible(name, uint64(i)))
	}
	conn, err := connectortest.Dial(t.Context(), "ws://"+proxy.Addr()+"/watch")
	require.NoError(t, err)
	defer connectortest.Socket(conn).CloseNow()
	reader := connectortest.NewReader(conn)
	require.NoError(t, reader.Hello(t.Context(), ""))
	sub, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
	require.NoError(t, err)
	require.NoError(t, reader.UntilSynced(t.Context(), sub))
	assert.Len(t, sub.Objects, 22)
	assert.Greater(t, reader.Fragments, 15)
}
