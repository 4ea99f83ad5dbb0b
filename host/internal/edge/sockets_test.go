package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access/token"
)

// bearerProtocol is the prefix of the WebSocket subprotocol in which a browser sends a
// token.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// dial opens a WebSocket. The headers are given as pairs of name and value.
func (r *rig) dial(path string, protocols []string, headers ...string) (*websocket.Conn, *http.Response, error) {
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return websocket.Dial(r.Context(), "ws://"+r.runtime.Address()+path, &websocket.DialOptions{Subprotocols: protocols, HTTPHeader: header})
}

// refused requires that the edge refuses a connection, and returns the code of the Status
// in the response.
func (r *rig) refused(path, bearer string, headers ...string) int {
	r.Helper()
	if bearer != "" {
		headers = append(headers, "Authorization", "Bearer "+bearer)
	}
	conn, response, err := r.dial(path, []string{wire.Subprotocol}, headers...)
	if err == nil {
		_ = conn.CloseNow()
		require.Fail(r, "let in", path)
	}
	body, err := io.ReadAll(response.Body)
	require.NoError(r, err)
	var status struct {
		Kind string
		Code int
	}
	require.NoError(r, json.Unmarshal(body, &status), string(body))
	assert.Equal(r, "Status", status.Kind)
	assert.Equal(r, response.StatusCode, status.Code)
	return status.Code
}

// The worker checks the token before it passes the request to the Durable Object.
func TestEntryChecksTokensOfSockets(t *testing.T) {
	r := start(t, 20)
	const forged = `{"resources":["*"],"namespaces":["*"],"expires":4000000000,"cluster":"default","user":"mallory","feed":true}`

	t.Run("refusals are Statuses", func(t *testing.T) {
		r := &rig{t, r.demo}
		feed := r.sign(func(c *token.Claims) { c.Feed = true })
		other := r.sign(func(c *token.Claims) { c.Cluster = "other" })
		for _, c := range []struct {
			path, token string
			code        int
		}{
			{"/watch", "", 401},
			{"/watch", "garbage", 401},
			{"/watch", feed, 403},
			{"/watch", other, 403},
			{"/clusters/none/watch", "", 401},
			{"/clusters/none/watch", r.everything(), 403},
			{"/clusters/other/watch", other, 404},
			{"/feed?resources=v1/pods", "", 401},
			{"/feed?resources=v1/pods", r.everything(), 403},
			{"/feed?resources=v1/secrets", r.sign(func(c *token.Claims) { c.Feed, c.Resources = true, []string{"v1/pods"} }), 403},
		} {
			assert.Equal(t, c.code, r.refused(c.path, c.token), "%s with %q", c.path, c.token)
			assert.Equal(t, c.code, r.refused(c.path, c.token, "X-Watchglass-Grant", forged), "a client's own grant is ignored")
		}
		for _, path := range []string{"/backend/schemas?resource=v1/pods", "/clusters/default/backend/schemas?resource=v1/pods", "/clusters/default/status"} {
			code, _ := r.get(path, r.everything(), "X-Watchglass-Grant", forged)
			assert.Equal(t, 404, code, "objects respond only to the worker")
		}
		assert.Equal(t, 426, r.list("/watch").Code)
	})
	t.Run("a browser receives the refusal as its first message", func(t *testing.T) {
		r := &rig{t, r.demo}
		conn, _, err := r.dial("/watch", []string{wire.Subprotocol}, "Origin", "https://dashboard.example.com")
		require.NoError(t, err)
		_, message, err := conn.Read(t.Context())
		require.NoError(t, err)
		kind, payload, _, err := wire.Next(message)
		require.NoError(t, err)
		require.Equal(t, wire.TypeSubscriptionStatus, kind)
		var last wire.SubscriptionStatus
		require.NoError(t, last.Parse(payload))
		assert.Zero(t, last.Subscription)
		assert.Equal(t, api.Unauthorized("a token is required and none was presented"), last.Status)
		_, _, err = conn.Read(t.Context())
		assert.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))
	})
	t.Run("a token may come as a subprotocol, and goes no further", func(t *testing.T) {
		r := &rig{t, r.demo}
		presented := bearerProtocol + base64.RawURLEncoding.EncodeToString([]byte(r.everything()))
		conn, response, err := r.dial("/watch", []string{wire.Subprotocol, presented})
		require.NoError(t, err)
		defer func() { _ = conn.CloseNow() }()
		assert.Equal(t, wire.Subprotocol, conn.Subprotocol())
		for _, values := range response.Header {
			assert.NotContains(t, strings.Join(values, " "), presented)
		}
		subscribe(r, conn)
		_, message, err := conn.Read(t.Context())
		require.NoError(t, err)
		kind, _, _, err := wire.Next(message)
		require.NoError(t, err)
		assert.Equal(t, wire.TypeWelcome, kind)
	})
}

// subscribe sends a Hello and a Subscribe for all pods.
func subscribe(r *rig, conn *websocket.Conn) {
	hello := (&wire.Hello{Version: wire.Version, Client: "test"}).Append(nil)
	hello = (&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(hello)
	require.NoError(r, conn.Write(r.Context(), websocket.MessageBinary, hello))
}

// Regional objects serve the readers, so the home object serves only one connection per
// regional object.
func TestRegions(t *testing.T) {
	const readers, regions = 8, 2
	r := startDivided(t, 50, `{"default": {"regions": 2, "groups": [{"name": "all",
		"resources": ["v1/pods", "v1/nodes", "v1/configmaps", "apps/v1/deployments"]}]}}`)
	var conns []*websocket.Conn
	for range readers {
		conn, _, err := r.dial("/watch", []string{wire.Subprotocol}, "Authorization", "Bearer "+r.everything())
		require.NoError(t, err)
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(wire.MaxMessage)
		subscribe(r, conn)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		await(r, conn, wire.TypeSnapshotEnd)
	}
	_, metrics := r.get("/metrics", r.everything())
	found := regexp.MustCompile(`watchglass_readers\{.*\} (\d+)`).FindSubmatch(metrics)
	require.NotNil(t, found, string(metrics))
	assert.LessOrEqual(t, string(found[1]), strconv.Itoa(regions))
	assert.NotEqual(t, "0", string(found[1]))
	r.change()
	for _, conn := range conns {
		await(r, conn, wire.TypeEvents)
	}
}

// await reads until a frame of the given type arrives. Like every reader, it subscribes
// again after a 503, which means that the data is not loaded yet.
func await(r *rig, conn *websocket.Conn, wanted wire.Type) {
	r.Helper()
	for {
		_, message, err := conn.Read(r.Context())
		require.NoError(r, err)
		for len(message) > 0 {
			kind, payload, rest, err := wire.Next(message)
			require.NoError(r, err)
			if kind == wanted {
				return
			}
			if kind == wire.TypeSubscriptionStatus {
				var ended wire.SubscriptionStatus
				require.NoError(r, ended.Parse(payload))
				require.Equal(r, 503, ended.Status.Code, ended.Status)
				again := wire.Subscribe{Subscription: ended.Subscription + 1, Resource: "v1/pods", Credit: 1 << 20}
				require.NoError(r, conn.Write(r.Context(), websocket.MessageBinary, again.Append(nil)))
			}
			message = rest
		}
	}
}
