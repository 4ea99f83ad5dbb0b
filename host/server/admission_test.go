package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/memory"
)

// named is a policy that uses each token as the user's name and refuses an empty token.
type named struct{ access.Policy }

func (named) Authenticate(_ context.Context, token string) (*access.User, *api.Status) {
	if token == "" {
		return nil, api.Unauthorized("a token is required")
	}
	return &access.User{Name: token}, nil
}

// crowd is a server that also serves the Kubernetes API.
type crowd struct {
	t       *testing.T
	limits  *limit.Set
	watch   string // address of the server for readers
	kubeAPI string
}

func startCrowd(t *testing.T, limits *limit.Set, config server.Config) *crowd {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	policy := named{access.Everyone()}
	c := connector.New(connector.Config{Source: memory.New(), Logger: quiet, Limits: limits, Access: policy})
	config.Connector, config.Logger = c, quiet
	s, err := server.New(config)
	require.NoError(t, err)
	handler := kubeapi.New(kubeapi.Config{Backend: c.Backend(), Access: policy, Limits: limits})
	beside := s.Beside(handler)
	main, kube := listenOnLoopback(t), listenOnLoopback(t)
	served := make(chan error, 2)
	go func() { served <- s.Serve(main) }()
	go func() {
		err := beside.Serve(kube)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		served <- err
	}()
	t.Cleanup(func() {
		handler.Stop()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, c.Close(ctx))
		beside.Close()
		assert.NoError(t, s.Shutdown(ctx))
		assert.NoError(t, <-served)
		assert.NoError(t, <-served)
	})
	return &crowd{t, limits, main.Addr().String(), kube.Addr().String()}
}

func listenOnLoopback(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

// client returns an HTTP client that connects from the given loopback address.
func client(t *testing.T, address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// reader opens a WebSocket from the given address and sends no Hello.
func (c *crowd) reader(address string) *connectortest.Reader {
	c.t.Helper()
	ws, _, err := websocket.Dial(c.t.Context(), "ws://"+c.watch+"/watch", &websocket.DialOptions{
		Subprotocols: []string{wire.Subprotocol}, HTTPClient: client(c.t, address),
	})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { ws.CloseNow() })
	return connectortest.NewReader(connectortest.Over(ws))
}

// greets sends a Hello with the token. It returns the cause of the server's refusal, or ""
// if the server accepted the reader.
func (c *crowd) greets(r *connectortest.Reader, token string) string {
	c.t.Helper()
	require.NoError(c.t, r.Hello(c.t.Context(), token))
	if r.Status != nil {
		return r.Status.Cause
	}
	return ""
}

// get sends a GET to the Kubernetes API. The caller closes the body.
func (c *crowd) get(client *http.Client, path, token string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://"+c.kubeAPI+path, nil)
	require.NoError(c.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// silence opens a connection between two addresses and sends no data on it.
func (c *crowd) silence(from, to string) net.Conn {
	c.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(c.t.Context(), "tcp", to)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { conn.Close() })
	return conn
}

// isCut waits until the server closes the connection, or fails the test after a minute.
func isCut(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is still open")
}

func TestSilentConnectionsDoNotLockReadersOut(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.MaxUnauthenticated, 10).With(limit.MaxReaders, 5), server.Config{})
	var first *connectortest.Reader
	for i := range 30 {
		r := c.reader("127.0.0.1")
		if i == 0 {
			first = r
		}
	}
	assert.Empty(t, c.greets(c.reader("127.0.0.1"), "ann"))
	assert.EqualValues(t, 21, c.limits.Refusals(limit.MaxUnauthenticated))
	_, err := first.Conn.Read(t.Context())
	assert.Error(t, err, "the oldest is closed")
	assert.Nil(t, first.Status, "and receives no response")
}

func TestHeavyAddressDoesNotDisplaceOthers(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.MaxUnauthenticated, 10), server.Config{})
	slow := c.reader("127.0.0.2")
	for range 30 {
		c.reader("127.0.0.1")
	}
	assert.Empty(t, c.greets(slow, "ann"))
}

func TestSilentConnectionsDoNotLockTheKubernetesAPI(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.MaxUnauthenticated, 10), server.Config{})
	ann := client(t, "127.0.0.2")
	watch := c.get(ann, "/api/v1/pods?watch=1&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "ann")
	require.Equal(t, 200, watch.StatusCode)
	oldest := c.silence("127.0.0.1", c.kubeAPI)
	for range 30 {
		c.silence("127.0.0.1", c.kubeAPI)
	}
	isCut(t, oldest)
	assert.Equal(t, 200, c.get(ann, "/api/v1/pods", "ann").StatusCode)
	line, err := bufio.NewReader(watch.Body).ReadString('\n')
	require.NoError(t, err, "a watch is not silent")
	assert.Contains(t, line, "BOOKMARK")
}

func TestUsersHaveTheirShareOfConnections(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.MaxConnectionsPerUser, 2), server.Config{})
	assert.Empty(t, c.greets(c.reader("127.0.0.1"), "ann"))
	http1 := client(t, "127.0.0.2")
	watch := c.get(http1, "/api/v1/pods?watch=1", "ann")
	require.Equal(t, 200, watch.StatusCode)

	assert.Equal(t, "max-connections-per-user", c.greets(c.reader("127.0.0.3"), "ann"))
	refused := c.get(http1, "/api/v1/pods", "ann")
	assert.Equal(t, 429, refused.StatusCode)
	text, err := io.ReadAll(refused.Body)
	require.NoError(t, err)
	assert.Contains(t, string(text), "(limit: max-connections-per-user)")
	assert.Empty(t, c.greets(c.reader("127.0.0.1"), "ben"))
	assert.Equal(t, 200, c.get(http1, "/api/v1/pods", "ben").StatusCode)

	watch.Body.Close()
	for _, from := range []string{"127.0.0.4", "127.0.0.5", "127.0.0.6"} {
		idle := client(t, from) // keeps its connection open without a request
		require.Eventually(t, func() bool {
			resp := c.get(idle, "/api/v1/pods", "ann")
			io.Copy(io.Discard, resp.Body)
			return resp.StatusCode == 200
		}, time.Minute, time.Millisecond)
	}
	for range 3 {
		require.Eventually(t, func() bool {
			r := c.reader("127.0.0.1")
			welcome := c.greets(r, "ann") == ""
			_ = r.Conn.Close(nil) // fails if the server has refused and closed the connection
			return welcome
		}, time.Minute, time.Millisecond)
	}
}

func TestAddressesHaveTheirShareOfConnections(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.MaxConnectionsPerAddress, 2), server.Config{})
	assert.Empty(t, c.greets(c.reader("127.0.0.1"), "ann"))
	assert.Empty(t, c.greets(c.reader("127.0.0.1"), "ben"))
	assert.Equal(t, "max-connections-per-address", c.greets(c.reader("127.0.0.1"), "cem"))
	assert.Equal(t, 429, c.get(client(t, "127.0.0.1"), "/api/v1/pods", "cem").StatusCode)
	assert.Empty(t, c.greets(c.reader("127.0.0.2"), "cem"))
}

func TestClientsOfATrustedProxyHaveTheirOwnShare(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.MaxConnectionsPerAddress, 1), server.Config{
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
	})
	greet := func(from, forwarded string) string {
		ws, _, err := websocket.Dial(t.Context(), "ws://"+c.watch+"/watch", &websocket.DialOptions{
			Subprotocols: []string{wire.Subprotocol}, HTTPClient: client(t, from),
			HTTPHeader: http.Header{"X-Forwarded-For": {forwarded}},
		})
		require.NoError(t, err)
		t.Cleanup(func() { ws.CloseNow() })
		return c.greets(connectortest.NewReader(connectortest.Over(ws)), "ann")
	}
	assert.Empty(t, greet("127.0.0.1", "192.0.2.1"))
	assert.Empty(t, greet("127.0.0.1", "192.0.2.2"))
	assert.Equal(t, "max-connections-per-address", greet("127.0.0.1", "192.0.2.1"))
	assert.Empty(t, greet("127.0.0.2", "192.0.2.3"))
	assert.Equal(t, "max-connections-per-address", greet("127.0.0.2", "192.0.2.4"), "not trusted")
}

func TestEveryListenerBoundsHeadersAndGuardsAnswers(t *testing.T) {
	c := startCrowd(t, nil, server.Config{})
	for _, url := range []string{"http://" + c.watch + "/healthz", "http://" + c.kubeAPI + "/healthz", "http://" + c.kubeAPI + "/api/v1/pods"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		resp, err := client(t, "127.0.0.1").Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), url)
		assert.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Resource-Policy"), url)

		req.Header.Set("Authorization", "Bearer "+strings.Repeat("x", 64<<10))
		resp, err = client(t, "127.0.0.1").Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode, url)
	}
}
