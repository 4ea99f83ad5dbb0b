package server_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/server"
)

// say sends a string on a new TCP connection, and returns a reader for the response.
func say(t *testing.T, address, text string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return bufio.NewReader(conn)
}

func requireClosed(t *testing.T, r *bufio.Reader) {
	t.Helper()
	_, err := r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestHeaderTimeoutIsALimit(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.HeaderTimeout, int64(20*time.Millisecond)), server.Config{})
	for _, address := range []string{c.watch, c.kubeAPI} {
		requireClosed(t, say(t, address, "GET /version HTTP/1.1\r\nHost: "))
	}
}

func TestIdleTimeoutIsALimit(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.IdleTimeout, int64(20*time.Millisecond)), server.Config{})
	for _, address := range []string{c.watch, c.kubeAPI} {
		r := say(t, address, "GET /healthz HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
		response, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		requireClosed(t, r)
	}
}

func TestHeaderSizeIsALimit(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.MaxHeaderBytes, 10<<10), server.Config{})
	for bytes, code := range map[int]int{8 << 10: 200, 30 << 10: 431} {
		for _, address := range []string{c.watch, c.kubeAPI} {
			r := say(t, address, "GET /healthz HTTP/1.1\r\nHost: "+address+"\r\nX: "+strings.Repeat("x", bytes)+"\r\n\r\n")
			response, err := http.ReadResponse(r, nil)
			require.NoError(t, err)
			assert.Equal(t, code, response.StatusCode, "%d bytes", bytes)
		}
	}
}

// The default interval is 20 seconds, so a server that ignores the limit fails the test.
// With an interval of a millisecond, the server may close a connection before its client
// reads the first ping. In that case the test connects again.
func TestThePingIntervalIsALimit(t *testing.T) {
	c := startCrowd(t, limit.NewSet().With(limit.PingInterval, int64(time.Millisecond)), server.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	pinged := make(chan struct{}, 1)
	for received := false; !received; {
		ws, _, err := websocket.Dial(ctx, "ws://"+c.watch+"/watch", &websocket.DialOptions{
			Subprotocols: []string{wire.Subprotocol},
			OnPingReceived: func(context.Context, []byte) bool {
				select {
				case pinged <- struct{}{}:
				default:
				}
				return true
			},
		})
		require.NoError(t, err)
		select {
		case <-pinged:
			received = true
		case <-ws.CloseRead(ctx).Done():
			require.NoError(t, ctx.Err(), "no ping in 15 s")
		}
		_ = ws.CloseNow() // fails if the server has closed the connection
	}
}
