package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/signin"
)

func sessionConfig(origins ...string) server.Config {
	return server.Config{
		Access: signin.Cookie("session", access.Token("secret"), nil), SessionCookie: "session", AllowOrigins: origins,
	}
}

// dial tries to open a WebSocket and returns the status code of the response.
func (r *rig) dial(t *testing.T, header http.Header) (*websocket.Conn, int) {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), r.socket(), &websocket.DialOptions{Subprotocols: []string{wire.Subprotocol}, HTTPHeader: header})
	require.NotNil(t, resp, "%v", err)
	if err == nil {
		t.Cleanup(func() { ws.CloseNow() })
	}
	return ws, resp.StatusCode
}

// The session cookie authenticates a page that sends no token.
func TestSessionCookieAuthenticatesPagesOfTheServer(t *testing.T) {
	r := start(t, sessionConfig())
	for cookie, code := range map[string]int{"session=secret": 0, "session=wrong": 401, "theme=dark": 401} {
		ws, status := r.dial(t, http.Header{"Origin": {r.http.URL}, "Cookie": {cookie}})
		require.Equal(t, 101, status)
		reader := connectortest.NewReader(connectortest.Over(ws))
		err := reader.Hello(t.Context(), "")
		if code != 0 {
			require.NotNil(t, reader.Status, "%s: %v", cookie, err)
			assert.Equal(t, code, reader.Status.Code, cookie)
			continue
		}
		require.NoError(t, err)
		s, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
		require.NoError(t, err)
		require.NoError(t, reader.UntilSynced(t.Context(), s))
		assert.Len(t, s.Objects, 20)
	}
}

func TestSessionCookieIsRefusedForOtherOrigins(t *testing.T) {
	own := start(t, sessionConfig("https://ok.example"))
	beside := own.server.Beside(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, c := range []struct {
		origin, site    string
		socket, request int // status codes with the cookie
		without         int // status code of the socket without the cookie
	}{
		{own.http.URL, "same-origin", 101, 418, 101},
		{"https://ok.example", "cross-site", 101, 418, 101},
		{"https://evil.example", "cross-site", 403, 403, 403},
		{"http://localhost:5173", "same-site", 403, 403, 101},
		{"null", "cross-site", 403, 403, 403},
		{"", "", 403, 403, 101},
		{"", "same-origin", 403, 418, 101},
		{"", "same-site", 403, 403, 101},
		{"", "cross-site", 403, 403, 101},
		{"", "none", 403, 403, 101},
	} {
		header := http.Header{"Cookie": {"theme=dark; session=secret"}}
		if c.origin != "" {
			header.Set("Origin", c.origin)
		}
		if c.site != "" {
			header.Set("Sec-Fetch-Site", c.site)
		}
		_, code := own.dial(t, header)
		assert.Equal(t, c.socket, code, "%+v", c)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, own.http.URL+"/api/v1/pods", nil)
		require.NoError(t, err)
		request.Header = header.Clone()
		request.Header.Set("Authorization", "Bearer secret")
		recorder := httptest.NewRecorder()
		beside.Handler.ServeHTTP(recorder, request)
		assert.Equal(t, c.request, recorder.Code, "%+v", c)
		resp, _ := own.get(t, "/metrics", "Cookie", "session=secret", "Origin", c.origin, "Sec-Fetch-Site", c.site)
		assert.Equal(t, c.request == 418, resp.StatusCode == 200, "%+v: %d", c, resp.StatusCode)
		header.Del("Cookie")
		_, code = own.dial(t, header)
		assert.Equal(t, c.without, code, "%+v", c)
	}
	resp, _ := own.get(t, "/healthz", "Cookie", "session=secret")
	assert.Equal(t, 200, resp.StatusCode, "a navigation has no origin")
}

func TestPagesOnLoopbackMayNotUseTheSessionOfAProxy(t *testing.T) {
	r := start(t, server.Config{ProxySessions: true})
	for origin, code := range map[string]int{"http://localhost:5173": 403, "https://evil.example": 403, r.http.URL: 101, "": 101} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		_, got := r.dial(t, header)
		assert.Equal(t, code, got, origin)
	}
}

func TestSessionsExcludeOriginsOfEveryPage(t *testing.T) {
	for _, config := range []server.Config{sessionConfig("*"), {ProxySessions: true, AllowOrigins: []string{"*"}}} {
		config.Connector = connector.New(connector.Config{})
		_, err := server.New(config)
		assert.ErrorContains(t, err, "every page could act as the user")
	}
}
