package client

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
)

// serveSocket starts a server that accepts WebSockets with one subprotocol and runs f on
// each. It returns a function that connects to the server.
func serveSocket(t *testing.T, subprotocol string, f func(ctx context.Context, conn *websocket.Conn)) func(context.Context) (Conn, error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}})
		if err == nil {
			f(r.Context(), conn)
		}
	}))
	t.Cleanup(server.Close)
	return dialer("ws"+strings.TrimPrefix(server.URL, "http"), "")
}

func dialContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestDialCarriesMessagesAndTheReasonOfTheEnd(t *testing.T) {
	closed := make(chan error, 1)
	dial := serveSocket(t, wire.Subprotocol, func(ctx context.Context, conn *websocket.Conn) {
		conn.SetReadLimit(wire.MaxMessage)
		for {
			kind, message, err := conn.Read(ctx)
			if err != nil {
				closed <- err
				return
			}
			_ = conn.Write(ctx, kind, message)
		}
	})
	ctx := dialContext(t)
	conn, err := dial(ctx)
	require.NoError(t, err)
	large := make([]byte, 1<<20) // more than the library's default limit
	require.NoError(t, conn.Write(ctx, large))
	got, err := conn.Read(ctx)
	require.NoError(t, err)
	require.Len(t, got, len(large))
	require.NoError(t, conn.Close(strings.Repeat("ä", 100)))
	require.ErrorContains(t, <-closed, strings.Repeat("ä", 61), "what fits a close frame")
}

func TestDialRefusesOtherServers(t *testing.T) {
	dial := serveSocket(t, "chat", func(context.Context, *websocket.Conn) {})
	_, err := dial(dialContext(t))
	require.ErrorContains(t, err, "does not support watchglass.v2")
}

func TestDialReportsTheResponseOfOtherServers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a page":       {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "the server returned 200 OK: is it a watchglass connector's watch endpoint?"},
		"a plain text": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not from here", http.StatusForbidden) }, "the server returned 403 Forbidden: not from here"},
		"nothing":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "the server returned 502 Bad Gateway: is it a watchglass connector's watch endpoint?"},
	} {
		server := httptest.NewServer(c.answer)
		_, err := dialer("ws"+strings.TrimPrefix(server.URL, "http"), "")(dialContext(t))
		server.Close()
		require.EqualError(t, err, c.want, name)
	}
	_, err := dialer("ws://127.0.0.1:1/watch", "")(dialContext(t))
	require.EqualError(t, err, "dial tcp 127.0.0.1:1: connect: connection refused")
}

func TestDialExplainsHowToTrustAnotherCA(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	_, err := dialer("wss"+strings.TrimPrefix(server.URL, "https"), "")(dialContext(t))
	require.ErrorContains(t, err, "certificate signed by unknown authority; to trust it, set $SSL_CERT_FILE to a file with its CA")
}

func TestTextMessagesAreRefused(t *testing.T) {
	dial := serveSocket(t, wire.Subprotocol, func(ctx context.Context, conn *websocket.Conn) {
		_ = conn.Write(ctx, websocket.MessageText, []byte("hello"))
		ctx = conn.CloseRead(ctx)
		<-ctx.Done()
	})
	conn, err := dial(dialContext(t))
	require.NoError(t, err)
	_, err = conn.Read(dialContext(t))
	require.ErrorContains(t, err, "the protocol is binary")
	_ = conn.Close("done")
}

func TestDialSendsTheTokenAndReportsRefusals(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"kind":"Status","message":"` + r.Header.Get("Authorization") + ` has expired","code":401}`))
	}))
	t.Cleanup(server.Close)
	_, err := dialer("ws"+strings.TrimPrefix(server.URL, "http"), "t0ken")(dialContext(t))
	require.EqualError(t, err, "the server returned 401 Unauthorized: Bearer t0ken has expired")
}
