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
	"github.com/watchglass/watchglass/host/internal/closereason"
)

// Conn is a WebSocket as a connector.MessageConn.
type Conn struct {
	ws       *websocket.Conn
	deadline *deadline // of the last Write
}

// New makes one of an open WebSocket.
func New(ws *websocket.Conn) *Conn { return &Conn{ws: ws} }

// deadline closes a WebSocket when a context ends while a message is being
// written with it. Between messages its end means nothing: whoever has said its
// last words cancels their context, and then closes in good order.
type deadline struct {
	ctx     context.Context
	writing atomic.Bool
	stop    func() bool
}

// Read implements connector.MessageConn.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	kind, message, err := c.ws.Read(ctx)
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return nil, io.EOF
	}
	if err == nil && kind != websocket.MessageBinary {
		return nil, api.Protocol("a text message: every message of " + wire.Subprotocol + " is binary")
	}
	return message, err
}

// Write implements connector.MessageConn. The library would do with the context
// what is done here, but anew for every message.
func (c *Conn) Write(ctx context.Context, message []byte) error {
	if c.deadline == nil || c.deadline.ctx != ctx {
		c.watch(ctx)
	}
	c.deadline.writing.Store(true)
	defer c.deadline.writing.Store(false)
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.ws.Write(context.Background(), websocket.MessageBinary, message)
}

func (c *Conn) watch(ctx context.Context) {
	c.Release()
	d := &deadline{ctx: ctx}
	d.stop = context.AfterFunc(ctx, func() {
		if d.writing.Load() {
			c.ws.CloseNow()
		}
	})
	c.deadline = d
}

// Release lets go of the socket and leaves it open. Nothing may be written any
// more.
func (c *Conn) Release() {
	if c.deadline != nil {
		c.deadline.stop()
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
		return c.ws.CloseNow() // the connection is broken, or its reader does not read
	}
	return c.ws.Close(closeCode(status), closereason.Clip(status.Error()))
}

func closeCode(s *api.Status) websocket.StatusCode {
	switch {
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
