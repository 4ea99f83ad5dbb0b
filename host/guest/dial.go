package guest

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/wire"
)

// dialer connects to a URL with a WebSocket.
func dialer(url string) func(ctx context.Context) (Conn, error) {
	return func(ctx context.Context) (Conn, error) {
		conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: []string{wire.Subprotocol}})
		if err != nil {
			return nil, err
		}
		if conn.Subprotocol() != wire.Subprotocol {
			_ = conn.CloseNow()
			return nil, fmt.Errorf("%s does not speak %s: is it a watchglass connector's watch endpoint?", url, wire.Subprotocol)
		}
		conn.SetReadLimit(wire.MaxMessage)
		return socket{conn}, nil
	}
}

// socket is a Conn over a WebSocket.
type socket struct{ conn *websocket.Conn }

func (s socket) Read(ctx context.Context) ([]byte, error) {
	kind, message, err := s.conn.Read(ctx)
	if err == nil && kind != websocket.MessageBinary {
		err = errors.New("connector sent a text message; the protocol is binary")
	}
	return message, err
}

func (s socket) Write(ctx context.Context, message []byte) error {
	return s.conn.Write(ctx, websocket.MessageBinary, message)
}

func (s socket) Close(reason string) error {
	return s.conn.Close(websocket.StatusNormalClosure, shorten(reason))
}

// maxCloseReason is what fits a WebSocket close frame.
const maxCloseReason = 123

func shorten(reason string) string {
	if len(reason) <= maxCloseReason {
		return reason
	}
	reason = reason[:maxCloseReason]
	for !utf8.ValidString(reason) {
		reason = reason[:len(reason)-1]
	}
	return reason
}
