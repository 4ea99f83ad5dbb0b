package socket_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/socket"
)

// accepted contains both ends of a WebSocket.
type accepted struct {
	ws   *websocket.Conn // the server's end
	conn connector.MessageConn
	peer *websocket.Conn
	over chan struct{} // closed when the server's read has returned
}

// accept connects a client to a server. The server's sockets have small write buffers.
func accept(t *testing.T, start func(*httptest.Server)) *accepted {
	a := &accepted{over: make(chan struct{})}
	ready := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := socket.Accept(w, r, websocket.AcceptOptions{})
		if !assert.NoError(t, err) {
			return
		}
		a.ws, a.conn = conn.WebSocket(), conn.Messages()
		close(ready)
		a.conn.Read(context.Background())
		close(a.over)
	}))
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if tcp, ok := c.(*net.TCPConn); ok {
			assert.NoError(t, tcp.SetWriteBuffer(64<<10))
		}
		return ctx
	}
	start(server)
	var err error
	a.peer, _, err = websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), &websocket.DialOptions{HTTPClient: server.Client()})
	require.NoError(t, err)
	a.peer.SetReadLimit(-1)
	<-ready
	t.Cleanup(func() {
		a.peer.CloseNow()
		a.conn.Close(nil)
		<-a.over
		server.Close()
	})
	return a
}

func acceptTCP(t *testing.T) (*accepted, connector.NonblockingConn) {
	a := accept(t, (*httptest.Server).Start)
	conn, ok := a.conn.(connector.NonblockingConn)
	require.True(t, ok)
	return a, conn
}

// sequence returns the message with number i. All messages differ, and some are long.
func sequence(i int) []byte {
	size := []int{1, 125, 126, 3000, 65535, 65536, 300_000}[i%7]
	return append(fmt.Appendf(nil, "%d ", i), bytes.Repeat([]byte{byte(i)}, size)...)
}

// trySend sends a message without blocking if possible, and otherwise blocks until the
// socket has accepted the message.
func trySend(ctx context.Context, conn connector.NonblockingConn, message []byte) error {
	if !conn.TryLock() {
		return conn.Write(ctx, message)
	}
	if conn.TryWrite(message) {
		return nil
	}
	return conn.Flush(ctx)
}

// Messages arrive complete and in order, even if blocking writes, nonblocking writes and
// pings alternate.
func TestMessagesArriveInOrder(t *testing.T) {
	a, conn := acceptTCP(t)
	const messages = 350
	sent := make(chan error, 1)
	go func() {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range messages {
			send := func() error { return trySend(t.Context(), conn, sequence(i)) }
			if rng.IntN(4) == 0 {
				send = func() error { return conn.Write(t.Context(), sequence(i)) }
			}
			if err := send(); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	pings := make(chan error, 1)
	go func() {
		for range 50 {
			if err := a.ws.Ping(t.Context()); err != nil {
				pings <- err
				return
			}
		}
		pings <- nil
	}()
	answered := make(chan error, 1)
	go func() {
		for range 50 {
			if err := a.peer.Ping(t.Context()); err != nil {
				answered <- err
				return
			}
		}
		answered <- nil
	}()
	for i := range messages {
		kind, message, err := a.peer.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, websocket.MessageBinary, kind)
		require.True(t, bytes.Equal(sequence(i), message), "message %d", i)
	}
	require.NoError(t, <-sent)
	ctx := a.peer.CloseRead(t.Context()) // the client answers the remaining pings while it reads
	require.NoError(t, <-pings)
	require.NoError(t, <-answered)
	require.NoError(t, ctx.Err())
}

// TryWrite does not block if the client does not read and the socket buffers are full. The
// connection buffers the rest of the message, and Flush sends it when the socket has room
// again.
func TestOfferDoesNotWait(t *testing.T) {
	a, conn := acceptTCP(t)
	sent := 0
	for full := false; !full; sent++ {
		require.True(t, conn.TryLock())
		full = !conn.TryWrite(sequence(sent))
	}
	assert.False(t, conn.TryLock(), "unsent data remains")

	flushed := make(chan error, 1)
	go func() { flushed <- conn.Flush(t.Context()) }()
	for i := range sent {
		_, message, err := a.peer.Read(t.Context())
		require.NoError(t, err)
		require.True(t, bytes.Equal(sequence(i), message), "message %d", i)
	}
	require.NoError(t, <-flushed)
	assert.True(t, conn.TryLock(), "the socket has room again")
	assert.True(t, conn.TryWrite(nil), "and no data is pending")
	assert.True(t, conn.TryLock())
	assert.True(t, conn.TryWrite([]byte("last")))
	_, message, err := a.peer.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "last", string(message))
}

// fill writes messages until the socket has no room.
func fill(t *testing.T, conn connector.NonblockingConn) {
	for full := false; !full; {
		require.True(t, conn.TryLock())
		full = !conn.TryWrite(sequence(6))
	}
}

func TestClaimDoesNotWaitForAWrite(t *testing.T) {
	a, conn := acceptTCP(t)
	fill(t, conn)
	ctx, cancel := context.WithCancel(t.Context())
	flushed, pinged := make(chan error, 1), make(chan error, 1)
	go func() { flushed <- conn.Flush(ctx) }()
	go func() { pinged <- a.ws.Ping(ctx) }() // also waits until the socket has room
	for range 1000 {
		assert.False(t, conn.TryLock())
	}
	cancel()
	assert.Error(t, <-flushed)
	assert.Error(t, <-pinged)
}

// If ctx is done while Flush writes, the connection is closed. If ctx is done before
// Flush begins to write, the connection stays open.
func TestEndOfContextEndsAFlush(t *testing.T) {
	a, conn := acceptTCP(t)
	fill(t, conn)
	for open := true; open; {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		assert.Error(t, conn.Flush(ctx))
		cancel()
		select {
		case <-a.over:
			open = false
		default:
		}
	}
	assert.Error(t, conn.Write(t.Context(), []byte("more")))
}

func TestDisconnectedReaderReceivesNoOffer(t *testing.T) {
	a, conn := acceptTCP(t)
	require.NoError(t, a.peer.CloseNow())
	<-a.over
	for conn.TryLock() {
		if !conn.TryWrite([]byte("message")) {
			break
		}
	}
	assert.Error(t, conn.Flush(t.Context()))
	assert.Error(t, conn.Write(t.Context(), []byte("message")))
}

// The server sends no message after its close frame, even if that frame only responds to
// the client's close frame (RFC 6455, section 5.5.1).
func TestNoMessageFollowsAClose(t *testing.T) {
	a, conn := acceptTCP(t)
	require.NoError(t, a.peer.Close(websocket.StatusNormalClosure, ""))
	<-a.over
	assert.False(t, conn.TryLock())
	assert.ErrorIs(t, conn.Write(t.Context(), []byte("message")), net.ErrClosed)
}

func TestOverTLSEveryMessageWaits(t *testing.T) {
	a := accept(t, (*httptest.Server).StartTLS)
	_, ok := a.conn.(connector.NonblockingConn)
	assert.False(t, ok)
	require.NoError(t, a.conn.Write(t.Context(), sequence(1)))
	_, message, err := a.peer.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, sequence(1), message)
}
