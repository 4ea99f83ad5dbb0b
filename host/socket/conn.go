package socket

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/closereason"
	"github.com/watchglass/watchglass/host/limit"
)

// Conn is a WebSocket that implements connector.MessageConn. Only one goroutine at a
// time may write.
type Conn struct {
	frames frameConn // first, so that fields that are used together are adjacent
	ws     *websocket.Conn
	// ctx is the context of the last write. If ctx is done during a write, the WebSocket
	// is closed. Between writes, canceling ctx has no effect. Callers can therefore
	// cancel ctx after the last message and still close the connection with a close
	// frame.
	ctx     context.Context
	stop    func() bool
	number  int32        // counts the contexts, so it identifies ctx
	writing atomic.Int32 // number of the context of the current write, or zero
	limited bool         // limits apply to received messages; otherwise the read limit of ws applies
	greeted bool         // the first message was read
	limits  *limit.Set
}

// LimitMessages makes Read refuse messages longer than max-message-bytes. The first
// message, which arrives before authentication and contains the token, may be at most 16
// KiB longer than max-token-bytes.
func (c *Conn) LimitMessages(limits *limit.Set) {
	c.limited, c.limits = true, limits
	c.ws.SetReadLimit(-1)
}

// WebSocket returns the library's connection, for reading and closing. Use only the methods
// of Conn to write messages.
func (c *Conn) WebSocket() *websocket.Conn { return c.ws }

// Messages returns the connection as a connector.MessageConn. For an accepted TCP
// connection, the result also implements connector.NonblockingConn.
func (c *Conn) Messages() connector.MessageConn {
	if c.frames.raw != nil {
		return (*nonblockingConn)(c)
	}
	return c
}

// Read implements connector.MessageConn.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	kind, message, err := c.read(ctx)
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return nil, io.EOF
	}
	if err == nil && kind != websocket.MessageBinary {
		return nil, api.Protocol("a text message: every message of " + wire.Subprotocol + " is binary")
	}
	return message, err
}

// read reads one message and checks its size. The read limit of the library would close the
// connection before the peer receives a reason.
func (c *Conn) read(ctx context.Context) (websocket.MessageType, []byte, error) {
	if !c.limited {
		return c.ws.Read(ctx)
	}
	kind, r, err := c.ws.Reader(ctx)
	if err != nil {
		return kind, nil, err
	}
	limited, most, refusal := limit.MaxMessageBytes, c.limits.Value(limit.MaxMessageBytes), "the message is too large"
	if first := c.limits.Value(limit.MaxTokenBytes) + besidesToken; !c.greeted && first < most {
		limited, most, refusal = limit.MaxTokenBytes, first, "the first message is too large: it contains the token, and Subscribe frames can follow the Welcome"
	}
	message, err := readUpTo(r, int(most)+1)
	if err != nil {
		return kind, nil, err
	}
	if int64(len(message)) > most {
		// Discard the rest of the message here. Close would discard it byte by byte while
		// it waits for the peer's close frame.
		_, _ = io.CopyN(io.Discard, r, c.limits.Value(limit.MaxMessageBytes)) // the connection is closed even if this fails
		return kind, nil, c.limits.Refuse(limited, refusal)
	}
	c.greeted = true
	return kind, message, nil
}

// besidesToken is the number of bytes that the first message may have in addition to a
// token of max-token-bytes. The other fields of the message are short.
const besidesToken = 16 << 10

// readUpTo reads n bytes, or fewer if the message ends first. Most messages are short, so
// the buffer starts small. It grows by a factor of eight, so that reading a large message
// leaves little garbage.
func readUpTo(r io.Reader, n int) ([]byte, error) {
	message := make([]byte, 0, min(512, n))
	for {
		read, err := r.Read(message[len(message):cap(message)])
		message = message[:len(message)+read]
		switch {
		case err == io.EOF:
			return message, nil
		case err != nil:
			return nil, err
		case len(message) == n:
			return message, nil
		case len(message) == cap(message):
			message = append(make([]byte, 0, min(8*cap(message), n)), message...)
		}
	}
}

// Write implements connector.MessageConn.
func (c *Conn) Write(ctx context.Context, message []byte) error {
	return c.write(ctx, opBinary, message)
}

// WriteText writes a text message.
func (c *Conn) WriteText(ctx context.Context, text string) error {
	return c.write(ctx, opText, []byte(text))
}

func (c *Conn) write(ctx context.Context, opcode byte, message []byte) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	defer c.done()
	return c.frames.send(opcode, message)
}

// begin begins a write, or returns the error of ctx if ctx is done. If ctx is done before
// the method done is called, the connection is closed.
func (c *Conn) begin(ctx context.Context) error {
	if c.ctx != ctx {
		c.watch(ctx)
	}
	c.writing.Store(c.number)
	err := ctx.Err()
	if err != nil {
		c.done()
	}
	return err
}

func (c *Conn) done() { c.writing.Store(0) }

func (c *Conn) watch(ctx context.Context) {
	c.Release()
	c.ctx = ctx
	c.number++
	number := c.number
	c.stop = context.AfterFunc(ctx, func() {
		if c.writing.Load() == number {
			c.ws.CloseNow()
		}
	})
}

// Release detaches the connection from the context of the last write. The socket stays open.
func (c *Conn) Release() {
	if c.stop != nil {
		c.stop()
	}
}

// Close implements connector.MessageConn.
func (c *Conn) Close(reason error) error {
	c.Release()
	if reason == nil {
		return c.ws.Close(websocket.StatusNormalClosure, "")
	}
	var status *api.Status
	if !errors.As(reason, &status) {
		return c.ws.CloseNow() // the connection is broken, or the peer does not read
	}
	return c.ws.Close(closeCode(status), closereason.Clip(status.Error()))
}

func closeCode(s *api.Status) websocket.StatusCode {
	switch {
	case s.Cause == limit.MaxMessageBytes.Name:
		return websocket.StatusMessageTooBig
	case s.Reason == api.ReasonProtocol:
		return websocket.StatusProtocolError
	case s.Code == http.StatusServiceUnavailable:
		return websocket.StatusGoingAway
	case s.Code == http.StatusTooManyRequests:
		return websocket.StatusTryAgainLater
	case s.Code >= 400 && s.Code < 500:
		return websocket.StatusPolicyViolation
	}
	return websocket.StatusInternalError
}
