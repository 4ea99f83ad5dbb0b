package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"
	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

var pods = api.Resource{Version: "v1", Name: "pods"}

// rig is a server with a memory source that listens on loopback.
type rig struct {
	source    *memory.Source
	connector *connector.Connector
	server    *server.Server
	http      *httptest.Server
}

func start(t *testing.T, config server.Config) *rig {
	t.Helper()
	return startWithin(t, nil, config)
}

// startWithin starts a server with the given limits.
func startWithin(t *testing.T, limits *limit.Set, config server.Config) *rig {
	t.Helper()
	return startFrom(t, nil, limits, config)
}

// startFrom starts a server whose source is the result of wrap or, if wrap is nil, a memory
// source.
func startFrom(t *testing.T, wrap func(*memory.Source) source.Source, limits *limit.Set, config server.Config) *rig {
	t.Helper()
	r := &rig{source: memory.New()}
	var from source.Source = r.source
	if wrap != nil {
		from = wrap(r.source)
	}
	for i := range 20 {
		r.put(fmt.Sprintf("pod-%d", i))
	}
	quiet := slog.New(slog.DiscardHandler)
	r.connector = connector.New(connector.Config{Source: from, Logger: quiet, Limits: limits, Access: config.Access})
	config.Connector = r.connector
	if config.Logger == nil {
		config.Logger = quiet
	}
	var err error
	r.server, err = server.New(config)
	require.NoError(t, err)
	r.http = httptest.NewUnstartedServer(r.server)
	r.server.Attach(r.http.Config)
	r.http.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, r.connector.Close(ctx))
		assert.NoError(t, r.server.Shutdown(ctx))
		r.http.Close()
	})
	return r
}

func (r *rig) put(name string) api.ResourceVersion {
	return r.source.Put(pods, api.NewKey("default", name),
		fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"default","uid":"u"}}`, name))
}

func (r *rig) socket() string { return "ws" + strings.TrimPrefix(r.http.URL, "http") + "/watch" }

func (r *rig) synced(t *testing.T) (*connectortest.Reader, *connectortest.Subscription) {
	conn, err := connectortest.Dial(t.Context(), r.socket())
	require.NoError(t, err)
	t.Cleanup(func() { connectortest.Socket(conn).CloseNow() })
	reader := connectortest.NewReader(conn)
	require.NoError(t, reader.Hello(t.Context(), ""))
	s, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
	require.NoError(t, err)
	require.NoError(t, reader.UntilSynced(t.Context(), s))
	return reader, s
}

func (r *rig) get(t *testing.T, path string, header ...string) (*http.Response, string) {
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.http.URL+path, nil)
	require.NoError(t, err)
	req.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func TestWatchOverWebSocket(t *testing.T) {
	r := start(t, server.Config{})
	reader, s := r.synced(t)
	assert.Len(t, s.Objects, 20)
	last := r.put("another")
	require.NoError(t, reader.Until(t.Context(), func() bool { return s.ResourceVersion == last }))
	require.NoError(t, reader.Conn.Close(nil))
}

func TestShutdownSendsTheClosingStatus(t *testing.T) {
	r := start(t, server.Config{})
	reader, _ := r.synced(t)
	done := make(chan error, 1)
	go func() { done <- r.server.Shutdown(t.Context()) }()
	err := reader.UntilEnd(t.Context())
	assert.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err), "%v", err)
	require.NotNil(t, reader.Status)
	assert.Equal(t, 503, reader.Status.Code)
	require.NoError(t, <-done)

	_, err = connectortest.Dial(t.Context(), r.socket())
	assert.ErrorContains(t, err, "503")
}

func TestMalformedFramesCloseWith1002(t *testing.T) {
	r := start(t, server.Config{})
	other, s := r.synced(t)
	for name, send := range map[string]func(ws *websocket.Conn) error{
		"garbage": func(ws *websocket.Conn) error {
			return ws.Write(t.Context(), websocket.MessageBinary, []byte("garbage"))
		},
		"text": func(ws *websocket.Conn) error {
			return ws.Write(t.Context(), websocket.MessageText, (&wire.Hello{Version: wire.Version}).Append(nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := connectortest.Dial(t.Context(), r.socket())
			require.NoError(t, err)
			reader := connectortest.NewReader(conn)
			require.NoError(t, send(connectortest.Socket(conn)))
			err = reader.UntilEnd(t.Context())
			var closed websocket.CloseError
			require.ErrorAs(t, err, &closed)
			assert.Equal(t, websocket.StatusProtocolError, closed.Code)
			assert.Contains(t, closed.Reason, "ProtocolError")
			require.NotNil(t, reader.Status)
			assert.Equal(t, api.ReasonProtocol, reader.Status.Reason)
		})
	}
	last := r.put("another")
	require.NoError(t, other.Until(t.Context(), func() bool { return s.ResourceVersion == last }))
}

func TestMessageOverTheLimitClosesWith1009(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxMessageBytes, 1000)
	r := startWithin(t, limits, server.Config{})
	hello := func(bytes int) *wire.Hello {
		empty := len((&wire.Hello{Version: wire.Version, Token: strings.Repeat("x", 900)}).Append(nil))
		return &wire.Hello{Version: wire.Version, Token: strings.Repeat("x", 900+bytes-empty)}
	}
	for _, first := range []bool{false, true} {
		conn, err := connectortest.Dial(t.Context(), r.socket())
		require.NoError(t, err)
		reader := connectortest.NewReader(conn)
		if !first {
			require.NoError(t, reader.Send(t.Context(), hello(1000)))
			require.NoError(t, reader.Until(t.Context(), func() bool { return reader.Welcome.Version != 0 }), "exactly the limit")
		}
		before := limits.Refusals(limit.MaxMessageBytes)
		require.NoError(t, reader.Send(t.Context(), hello(1001)))
		err = reader.UntilEnd(t.Context())
		assert.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err), "%v", err)
		require.NotNil(t, reader.Status)
		assert.Equal(t, 413, reader.Status.Code)
		assert.Equal(t, "max-message-bytes", reader.Status.Cause)
		assert.Equal(t, before+1, limits.Refusals(limit.MaxMessageBytes))
	}
}

// The first message may be only a little longer than a token, because it is read before
// the token is checked. Later messages may be longer.
func TestTheFirstMessageIsNotMuchLargerThanAToken(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxTokenBytes, 1000)
	r := startWithin(t, limits, server.Config{})
	const most = 1000 + 16<<10
	hello := &wire.Hello{Version: wire.Version}
	// rest returns a frame that, together with the Hello, has exactly the given number of
	// bytes.
	rest := func(bytes int) *wire.Subscribe {
		frame := &wire.Subscribe{Subscription: 1, Resource: pods.String(), LabelSelector: strings.Repeat("x", bytes-100)}
		frame.LabelSelector += strings.Repeat("x", bytes-len(frame.Append(hello.Append(nil))))
		require.Equal(t, bytes, len(frame.Append(hello.Append(nil))))
		return frame
	}
	connect := func() *connectortest.Reader {
		conn, err := connectortest.Dial(t.Context(), r.socket())
		require.NoError(t, err)
		return connectortest.NewReader(conn)
	}

	reader := connect()
	require.NoError(t, reader.Send(t.Context(), hello, rest(most)))
	require.NoError(t, reader.Until(t.Context(), func() bool { return reader.Welcome.Version != 0 }), "exactly the limit")
	require.NoError(t, reader.Send(t.Context(), rest(10*most)))
	s, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 2, Resource: pods.String(), Credit: 1 << 20})
	require.NoError(t, err)
	require.NoError(t, reader.UntilSynced(t.Context(), s), "a later message may be larger")
	require.NoError(t, reader.Conn.Close(nil))

	for i, size := range []int{most + 1, 50 * most} {
		reader = connect()
		require.NoError(t, reader.Send(t.Context(), hello, rest(size)))
		err = reader.UntilEnd(t.Context())
		assert.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "%v", err)
		require.NotNil(t, reader.Status)
		assert.Equal(t, 413, reader.Status.Code)
		assert.Equal(t, "max-token-bytes", reader.Status.Cause)
		assert.EqualValues(t, i+1, limits.Refusals(limit.MaxTokenBytes))
		assert.Zero(t, reader.Welcome.Version)
	}
}

// A reader that stops reading until its socket is full does not affect the others. When it
// reads again, it receives everything in order.
func TestSlowReaderDoesNotDelayOthers(t *testing.T) {
	r := start(t, server.Config{})
	slow, behind := r.synced(t)
	quick, s := r.synced(t)
	letters := rand.NewChaCha8([32]byte{})
	var last api.ResourceVersion
	for i := range 100 {
		random := make([]byte, 64<<10) // all messages together exceed the socket buffers
		letters.Read(random)
		name := fmt.Sprintf("large-%d", i)
		last = r.source.Put(pods, api.NewKey("default", name), fmt.Appendf(nil,
			`{"metadata":{"name":%q,"namespace":"default","uid":"u","annotations":{"random":"%x"}}}`, name, random))
		require.NoError(t, quick.Until(t.Context(), func() bool { return s.ResourceVersion == last }))
	}
	require.NoError(t, slow.Until(t.Context(), func() bool { return behind.ResourceVersion == last }))
	assert.Nil(t, behind.Status)
	assert.Equal(t, s.Objects, behind.Objects)
}

// The ping interval is long enough for a busy machine to respond.
func TestDeadConnectionIsDetected(t *testing.T) {
	pings := make(chan struct{}, 100)
	r := start(t, server.Config{PingInterval: time.Second})
	ws, _, err := websocket.Dial(t.Context(), r.socket(), &websocket.DialOptions{
		Subprotocols:   []string{wire.Subprotocol},
		OnPingReceived: func(context.Context, []byte) bool { pings <- struct{}{}; return true },
	})
	require.NoError(t, err)
	reading := ws.CloseRead(t.Context())
	<-pings
	<-pings
	require.NoError(t, reading.Err(), "a responsive connection stays open")
	require.NoError(t, ws.CloseNow())
	require.Eventually(t, func() bool { return r.connector.Stats().Readers == 0 }, time.Minute, time.Millisecond)
}

func TestUpgradeRequirements(t *testing.T) {
	r := start(t, server.Config{})
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}

	resp, body := r.get(t, "/watch")
	assert.Equal(t, http.StatusUpgradeRequired, resp.StatusCode)
	assert.Contains(t, body, wire.Subprotocol)

	resp, body = r.get(t, "/watch", upgrade...)
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
	assert.Contains(t, body, wire.Subprotocol)

	resp, body = r.get(t, "/watch", append(upgrade, "Sec-WebSocket-Protocol", wire.Subprotocol, "Origin", "https://evil.example")...)
	assert.Equal(t, http.StatusForbidden, resp.StatusCode)
	assert.Contains(t, body, "--allow-origin https://evil.example")
}

// Browsers do not expose the response to an upgrade request, so a page of another release
// receives the reason in a frame.
func TestClientOfAnotherVersionGetsTheReason(t *testing.T) {
	r := start(t, server.Config{})
	for _, version := range []string{"watchglass.v1", "watchglass.v99"} {
		ws, _, err := websocket.Dial(t.Context(), r.socket(), &websocket.DialOptions{Subprotocols: []string{version}})
		require.NoError(t, err)
		_, message, err := ws.Read(t.Context())
		require.NoError(t, err)
		kind, payload, rest, err := wire.Next(message)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, wire.TypeSubscriptionStatus, kind)
		var f wire.SubscriptionStatus
		require.NoError(t, f.Parse(payload))
		assert.Zero(t, f.Subscription)
		assert.Equal(t, api.ReasonProtocol, f.Status.Reason)
		for _, part := range []string{version, wire.Subprotocol, "same release", "reload the page"} {
			assert.Contains(t, f.Status.Message, part)
		}
		_, _, err = ws.Read(t.Context())
		assert.Equal(t, websocket.StatusProtocolError, websocket.CloseStatus(err), "%v", err)
	}
	ws, _, err := websocket.Dial(t.Context(), r.socket(), &websocket.DialOptions{Subprotocols: []string{"watchglass.v99", wire.Subprotocol}})
	require.NoError(t, err)
	assert.Equal(t, wire.Subprotocol, ws.Subprotocol(), "the server chooses its own version if it is offered")
	require.NoError(t, ws.CloseNow())
}

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		allow        []string
		origin, host string
		code         int
	}{
		{nil, "", "", 101},
		{nil, "http://localhost:5173", "", 101},
		{nil, "http://[::1]:80", "", 101},
		{nil, "https://evil.example", "", 403},
		{nil, "null", "", 403},
		{nil, "http://localhost.evil.example", "", 403},
		{nil, "http://rebound.example", "rebound.example", 403},
		{nil, "", "rebound.example", 403},
		{[]string{"https://ok.example"}, "https://ok.example", "", 101},
		{[]string{"https://ok.example"}, "https://OK.example", "ok.example", 101},
		{[]string{"https://ok.example"}, "http://ok.example", "", 403},
		{[]string{"https://*.ok.example"}, "https://a.ok.example", "", 101},
		{[]string{"https://*.ok.example"}, "https://ok.example", "", 403},
		{[]string{"*"}, "https://evil.example", "any.example", 101},
	} {
		t.Run(fmt.Sprintf("%v/%s/%s", c.allow, c.origin, c.host), func(t *testing.T) {
			r := start(t, server.Config{AllowOrigins: c.allow})
			header := http.Header{}
			if c.origin != "" {
				header.Set("Origin", c.origin)
			}
			ws, resp, err := websocket.Dial(t.Context(), r.socket(), &websocket.DialOptions{
				Subprotocols: []string{wire.Subprotocol}, HTTPHeader: header, Host: c.host,
			})
			if err == nil {
				ws.CloseNow()
			}
			require.NotNil(t, resp, "%v", err)
			assert.Equal(t, c.code, resp.StatusCode)
		})
	}
}

func TestInvalidOrigin(t *testing.T) {
	for _, pattern := range []string{"example.com", "https://", "https://a/b", "https://["} {
		_, err := server.New(server.Config{Connector: connector.New(connector.Config{}), AllowOrigins: []string{pattern}})
		assert.ErrorContains(t, err, "https://dashboard.example.com", pattern)
	}
}

func TestMetrics(t *testing.T) {
	r := start(t, server.Config{})
	r.synced(t)
	resp, body := r.get(t, "/metrics")
	assert.Equal(t, 200, resp.StatusCode)
	for _, line := range []string{"watchglass_readers 1\n", "watchglass_upstream_watches 1\n",
		"# TYPE watchglass_events_total counter\nwatchglass_events_total{resource=\"v1/pods\"} 20\n"} {
		assert.Contains(t, body, line)
	}
}

// The tabs of a page without a token share an engine only if the server has no access control.
func TestThePageIsMarkedIfEveryoneMayReadEverything(t *testing.T) {
	const mark = `<meta name="watchglass-access" content="everyone">`
	files := fstest.MapFS{"index.html": {Data: []byte("<!doctype html><html><head><title>w</title></head>")}}
	open := start(t, server.Config{Page: files})
	_, body := open.get(t, "/")
	assert.Equal(t, "<!doctype html><html><head>"+mark+"<title>w</title></head>", body)
	closed := start(t, server.Config{Page: files, Access: access.Token("secret")})
	_, body = closed.get(t, "/")
	assert.Equal(t, "<!doctype html><html><head><title>w</title></head>", body)
}

func TestPageIsServedWithItsFiles(t *testing.T) {
	script := strings.Repeat("console.log('watchglass');\n", 100)
	r := start(t, server.Config{Page: fstest.MapFS{
		"index.html":             {Data: []byte("<!doctype html><title>w</title>")},
		"assets/app-ABCDEFG2.js": {Data: []byte(script)},
		"watchglass.wasm":        {Data: bytes.Repeat([]byte("\x00asm"), 1000)},
		".gitignore":             {Data: []byte("*")},
	}})

	resp, body := r.get(t, "/")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Contains(t, body, "<title>w</title>")
	assert.Equal(t, "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
	assert.Equal(t, "no-cache", resp.Header.Get("Cache-Control"))
	assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	assert.Contains(t, resp.Header.Get("Content-Security-Policy"), "'wasm-unsafe-eval'")
	assert.NotContains(t, resp.Header.Get("Content-Security-Policy"), "unsafe-inline")

	resp, body = r.get(t, "/assets/app-ABCDEFG2.js")
	assert.Equal(t, script, body)
	assert.Equal(t, "text/javascript; charset=utf-8", resp.Header.Get("Content-Type"))
	assert.Contains(t, resp.Header.Get("Cache-Control"), "immutable")

	resp, body = r.get(t, "/watchglass.wasm", "Accept-Encoding", "br, gzip;q=0.8")
	assert.Equal(t, "application/wasm", resp.Header.Get("Content-Type"))
	assert.Equal(t, "no-cache", resp.Header.Get("Cache-Control"))
	assert.Equal(t, "gzip", resp.Header.Get("Content-Encoding"))
	assert.Equal(t, "Accept-Encoding", resp.Header.Get("Vary"))
	unzipped, err := gzip.NewReader(strings.NewReader(body))
	require.NoError(t, err)
	content, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	assert.Len(t, content, 4000)

	resp, body = r.get(t, "/watchglass.wasm", "Accept-Encoding", "gzip", "If-None-Match", resp.Header.Get("ETag"))
	assert.Equal(t, http.StatusNotModified, resp.StatusCode)
	assert.Empty(t, body)
	resp, _ = r.get(t, "/watchglass.wasm", "Accept-Encoding", "gzip;q=0")
	assert.Empty(t, resp.Header.Get("Content-Encoding"))

	for _, path := range []string{"/.gitignore", "/assets", "/assets/", "/nothing"} {
		resp, _ = r.get(t, path)
		assert.Equal(t, 404, resp.StatusCode, path)
	}
	posted, err := http.Post(r.http.URL+"/", "text/plain", strings.NewReader("x"))
	require.NoError(t, err)
	posted.Body.Close()
	assert.Equal(t, http.StatusMethodNotAllowed, posted.StatusCode)
}

func TestBinaryWithoutDashboardExplainsHowToBuildIt(t *testing.T) {
	r := start(t, server.Config{Page: fstest.MapFS{".gitkeep": {}}})
	resp, body := r.get(t, "/")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Contains(t, body, "make build")
}

func TestServeUntilShutdown(t *testing.T) {
	r := start(t, server.Config{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- r.server.Serve(listener) }()
	resp, err := http.Get("http://" + listener.Addr().String() + "/healthz")
	require.NoError(t, err)
	resp.Body.Close()
	require.NoError(t, r.server.Shutdown(t.Context()))
	require.NoError(t, <-done)
}

func TestRequestsAreLoggedAtDebug(t *testing.T) {
	var log bytes.Buffer
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
	source := memory.New()
	c := connector.New(connector.Config{Source: source, Logger: slog.New(slog.DiscardHandler)})
	s, err := server.New(server.Config{Connector: c, Logger: slog.New(handler)})
	require.NoError(t, err)
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/nothing", nil))
	assert.Contains(t, log.String(), "path=/nothing code=404")
	require.NoError(t, c.Close(t.Context()))
}
