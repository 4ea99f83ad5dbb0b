package connectortest

import (
	"context"
	"errors"
	"io"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/wire"
)

type socket struct{ *websocket.Conn }

// Dial connects to the WebSocket endpoint of a server.
func Dial(ctx context.Context, url string) (Conn, error) {
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: []string{wire.Subprotocol}})
	if err != nil {
		return nil, err
	}
	return Over(conn), nil
}

// Over returns a connection that uses an open WebSocket.
func Over(conn *websocket.Conn) Conn {
	conn.SetReadLimit(wire.MaxMessage)
	return socket{conn}
}

// Read implements Conn. The error of a closed connection matches both io.EOF and
// websocket.CloseError.
func (s socket) Read(ctx context.Context) ([]byte, error) {
	kind, message, err := s.Conn.Read(ctx)
	if websocket.CloseStatus(err) != -1 {
		return nil, errors.Join(io.EOF, err)
	}
	if err == nil && kind != websocket.MessageBinary {
		err = errors.New("a message that is not binary: " + string(message))
	}
	return message, err
}

func (s socket) Write(ctx context.Context, message []byte) error {
	return s.Conn.Write(ctx, websocket.MessageBinary, message)
}

func (s socket) Close(error) error { return s.Conn.Close(websocket.StatusNormalClosure, "") }

// Socket returns the WebSocket of a connection that Dial or Over returned.
func Socket(c Conn) *websocket.Conn { return c.(socket).Conn }
