package push_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
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
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/push"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/memory"
)

var pods = api.Resource{Version: "v1", Name: "pods"}

// edge is a server that accepts the connections of a pusher and passes them to the
// test.
type edge struct {
	http   *httptest.Server
	feeds  chan *edgeFeed
	refuse func(*http.Request) (code int, body string) // a zero code accepts the connection
	plan   func() (body string)                        // nil if the edge is a single object
	// location is the redirect target of a refusal.
	location string
}

// edgeFeed is the edge's end of a connection.
type edgeFeed struct {
	t       *testing.T
	ws      *websocket.Conn
	query   url.Values
	token   string
	release context.CancelFunc
}

func startEdge(t *testing.T) *edge {
	e := &edge{feeds: make(chan *edgeFeed), refuse: func(*http.Request) (int, string) { return 0, "" }}
	e.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code, body := e.refuse(r); code != 0 {
			if e.location != "" {
				w.Header().Set("Location", e.location)
			}
			http.Error(w, body, code)
			return
		}
		if r.Header.Get("Upgrade") == "" && e.plan != nil {
			fmt.Fprint(w, e.plan())
			return
		}
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{wire.Subprotocol}})
		if err != nil {
			return
		}
		held, release := context.WithCancel(t.Context())
		e.feeds <- &edgeFeed{t, ws, r.URL.Query(), r.Header.Get("Authorization"), release}
		<-held.Done()
	}))
	t.Cleanup(e.http.Close)
	return e
}

func (e *edge) url() string { return "ws" + strings.TrimPrefix(e.http.URL, "http") + "/feed" }

// next waits for the next connection of the pusher.
func (e *edge) next(t *testing.T) *edgeFeed {
	select {
	case f := <-e.feeds:
		t.Cleanup(func() { f.close() })
		return f
	case <-t.Context().Done():
		t.Fatal("the pusher did not connect")
		return nil
	}
}

func (f *edgeFeed) close() {
	f.ws.CloseNow()
	f.release()
}

// begin starts a session. It discards messages of the previous session that are still
// arriving.
func (f *edgeFeed) begin(number int) *connectortest.Reader {
	require.NoError(f.t, f.ws.Write(f.t.Context(), websocket.MessageText, fmt.Appendf(nil, "begin %d", number)))
	for {
		kind, message, err := f.ws.Read(f.t.Context())
		require.NoError(f.t, err)
		if kind == websocket.MessageText {
			require.Equal(f.t, fmt.Sprintf("begun %d", number), string(message))
			return connectortest.NewReader(connectortest.Over(f.ws))
		}
	}
}

// cluster is a source and the config of a pusher that feeds an edge from this source.
type cluster struct {
	source *memory.Source
	config push.Config
	stop   context.CancelFunc
	done   chan error
}

func startCluster(t *testing.T, e *edge, source *memory.Source) *cluster {
	quiet := slog.New(slog.DiscardHandler)
	c := connector.New(connector.Config{Source: source, Logger: quiet, Access: access.Only(pods)})
	var tokens atomic.Int32
	cl := &cluster{source: source, done: make(chan error, 1), config: push.Config{
		Connector: c, URL: e.url(), Resources: []api.Resource{pods}, Logger: quiet, ClusterID: source.ClusterID,
		Token: func() (string, error) { return fmt.Sprintf("token-%d", tokens.Add(1)), nil },
	}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, c.Close(ctx))
	})
	return cl
}

func (c *cluster) run(t *testing.T) *cluster {
	pusher, err := push.New(c.config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	c.stop = cancel
	go func() { c.done <- pusher.Run(ctx) }()
	return c
}

func newSource() *memory.Source {
	s := memory.New()
	for i := range 20 {
		put(s, fmt.Sprintf("pod-%d", i))
	}
	return s
}

func put(s *memory.Source, name string) api.ResourceVersion {
	return s.Put(pods, api.NewKey("default", name), fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"default","uid":"u"}}`, name))
}

var all = wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless}

func synced(t *testing.T, r *connectortest.Reader) *connectortest.Subscription {
	require.NoError(t, r.Hello(t.Context(), ""))
	s, err := r.Subscribe(t.Context(), all)
	require.NoError(t, err)
	require.NoError(t, r.UntilSynced(t.Context(), s))
	return s
}

func TestEdgeReadsOverAConnectionThatTheConnectorOpened(t *testing.T) {
	e, source := startEdge(t), newSource()
	c := startCluster(t, e, source).run(t)
	f := e.next(t)
	name, err := source.ClusterID(t.Context())
	require.NoError(t, err)
	assert.Equal(t, url.Values{"resources": {"v1/pods"}, "clusterID": {name}}, f.query)
	assert.Equal(t, "Bearer token-2", f.token, "the first request was for the list")
	r := f.begin(7)
	s := synced(t, r)
	assert.Len(t, s.Objects, 20)
	last := put(source, "another")
	require.NoError(t, r.Until(t.Context(), func() bool { return s.ResourceVersion == last }))

	other, err := r.Subscribe(t.Context(), wire.Subscribe{Subscription: 2, Resource: "v1/nodes", Credit: 1})
	require.NoError(t, err)
	require.NoError(t, r.Until(t.Context(), func() bool { return other.Status != nil }))
	assert.Equal(t, 404, other.Status.Code, "unselected objects are absent")

	c.stop()
	require.NoError(t, r.Until(t.Context(), func() bool { return r.Status != nil }))
	assert.Equal(t, 503, r.Status.Code)
	assert.ErrorContains(t, r.UntilEnd(t.Context()), "StatusGoingAway")
	require.NoError(t, <-c.done)
}

// An edge that was evicted from memory begins a new session on the same connection.
func TestEdgeResumesInNewSessions(t *testing.T) {
	e, source := startEdge(t), newSource()
	startCluster(t, e, source).run(t)
	f := e.next(t)
	s := synced(t, f.begin(1))
	for number := 2; number < 20; number++ {
		last := put(source, fmt.Sprintf("pod-%d", number)) // the previous session may still send this message
		r := f.begin(number)
		require.NoError(t, r.Hello(t.Context(), ""))
		require.NoError(t, r.Resume(t.Context(), s, all))
		require.NoError(t, r.Until(t.Context(), func() bool { return s.ResourceVersion == last }))
		assert.Equal(t, 1, s.Snapshots)
	}
	assert.Equal(t, 18, s.Events)
}

func TestLostEdgeIsRedialedWithAFreshToken(t *testing.T) {
	e, source := startEdge(t), newSource()
	startCluster(t, e, source).run(t)
	f := e.next(t)
	s := synced(t, f.begin(1))
	f.close()
	last := put(source, "meanwhile")
	f = e.next(t)
	assert.Equal(t, "Bearer token-3", f.token)
	r := f.begin(1)
	require.NoError(t, r.Hello(t.Context(), ""))
	require.NoError(t, r.Resume(t.Context(), s, all))
	require.NoError(t, r.Until(t.Context(), func() bool { return s.ResourceVersion == last }))
	assert.Equal(t, 1, s.Snapshots)
}

func TestProtocolViolationEndsOnlyItsSession(t *testing.T) {
	e, source := startEdge(t), newSource()
	startCluster(t, e, source).run(t)
	f := e.next(t)
	r := f.begin(1)
	require.NoError(t, r.Hello(t.Context(), ""))
	require.NoError(t, r.Conn.Write(t.Context(), []byte{0x7f, 0}))
	err := r.UntilEnd(t.Context())
	assert.ErrorContains(t, err, "ended 1 ")
	assert.ErrorContains(t, err, "0x7f")
	assert.Len(t, synced(t, f.begin(2)).Objects, 20)
}

func TestMalformedCommandEndsTheConnection(t *testing.T) {
	e := startEdge(t)
	startCluster(t, e, newSource()).run(t)
	f := e.next(t)
	require.NoError(t, f.ws.Write(t.Context(), websocket.MessageText, []byte("begin at once")))
	_, _, err := f.ws.Read(t.Context())
	assert.Equal(t, websocket.StatusProtocolError, websocket.CloseStatus(err))
	f.release()
	assert.Len(t, synced(t, e.next(t).begin(1)).Objects, 20)
}

func TestRefusals(t *testing.T) {
	for code, hint := range map[int]string{401: "signed", 403: "must grant", 404: "has this cluster", 409: "--replace"} {
		e := startEdge(t)
		e.refuse = func(*http.Request) (int, string) { return code, `{"kind":"Status","message":"not you"}` }
		err := <-startCluster(t, e, newSource()).run(t).done
		var refused *push.RefusedError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, code, refused.Code)
		assert.ErrorContains(t, err, "not you")
		assert.ErrorContains(t, err, hint)
	}
}

// After the edge has accepted a connection, the pusher retries after a refusal. The refusal may
// be temporary, for example during a token renewal or a deployment.
func TestLaterRefusalIsRetried(t *testing.T) {
	e := startEdge(t)
	attempts := 0 // needs no lock, because attempts are sequential
	e.refuse = func(r *http.Request) (int, string) {
		if r.Header.Get("Upgrade") == "" {
			return 426, "this is one object"
		}
		if attempts++; attempts == 2 {
			return 401, "expired"
		}
		return 0, ""
	}
	c := startCluster(t, e, newSource()).run(t)
	e.next(t).close()
	assert.Len(t, synced(t, e.next(t).begin(1)).Objects, 20)
	c.stop()
	require.NoError(t, <-c.done)
}

// The pusher refuses a server for readers, even if the path of the URL is not /watch.
func TestServerForReadersIsRefused(t *testing.T) {
	c := connector.New(connector.Config{Source: newSource(), Logger: slog.New(slog.DiscardHandler), Limits: limit.NewSet().With(limit.HelloTimeout, int64(time.Millisecond))})
	s, err := server.New(server.Config{Connector: c, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/watch"
		s.ServeHTTP(w, r)
	}))
	defer listening.Close()
	e := &edge{http: listening}
	assert.ErrorContains(t, <-startCluster(t, e, newSource()).run(t).done, "treats the connector as a reader")
	require.NoError(t, c.Close(t.Context()))
}

// The token is sent only to the configured URL, never to a redirect target.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.Fail(t, "the redirect was followed", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, upgraded := range []bool{false, true} {
		e := startEdge(t)
		e.refuse = func(r *http.Request) (int, string) {
			if upgraded && r.Header.Get("Upgrade") == "" {
				return http.StatusUpgradeRequired, "this is one object"
			}
			return http.StatusTemporaryRedirect, ""
		}
		e.location = elsewhere.URL + "/feed"
		assert.ErrorContains(t, <-startCluster(t, e, newSource()).run(t).done, "the edge returned 307 Temporary Redirect: it is at "+e.location)
	}
}

func TestInvalidEdgeURLs(t *testing.T) {
	e := startEdge(t)
	c := startCluster(t, e, newSource())
	for text, complaint := range map[string]string{
		"edge.example.com/feed":        "wss://edge.example.com",
		"ftp://edge.example.com/feed":  "wss://edge.example.com",
		"wss:///feed":                  "host",
		"wss://a:b@edge.example/feed":  "credentials",
		"ws://edge.example.com/feed":   "unencrypted",
		"http://edge.example.com/feed": "unencrypted",

		"wss://edge.example.com/watch":            "/watch is for readers",
		"wss://edge.example.com/clusters/a/watch": "/watch is for readers",
		"wss://\x00": "invalid",

		"wss://a:hunter2%zz@edge.example/feed":      "edge wss://xxxxx@edge.example/feed: the URL contains credentials",
		"wss://a:hunter2 @edge.example/feed":        "edge wss://xxxxx@edge.example/feed: the URL contains credentials",
		"wss://a:hunter2/hunter2@edge.example/feed": "edge wss://xxxxx@edge.example/feed: the URL contains credentials",
		"wss://a:1/hunter2@edge.example/feed":       "edge wss://xxxxx@edge.example/feed: the URL contains credentials",
	} {
		c.config.URL = text
		_, err := push.New(c.config)
		assert.ErrorContains(t, err, complaint, text)
		assert.NotContains(t, err.Error(), "hunter2")
	}
	c.config.URL, c.config.Resources = e.url(), nil
	_, err := push.New(c.config)
	assert.Error(t, err)
}
