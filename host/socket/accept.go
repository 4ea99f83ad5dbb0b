package socket

import (
	"bufio"
	"net"
	"net/http"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/host/connector"
)

// Accept upgrades a request to a WebSocket, which is not compressed, and makes a
// connection of it, by which alone messages are written. One over TCP is a
// connector.TryConn, one over TLS is not.
func Accept(w http.ResponseWriter, r *http.Request, options websocket.AcceptOptions) (*websocket.Conn, connector.MessageConn, error) {
	options.CompressionMode = websocket.CompressionDisabled
	h := &hijacker{ResponseWriter: w}
	if _, ok := w.(http.Hijacker); ok {
		w = h
	}
	ws, err := websocket.Accept(w, r, &options)
	if err != nil {
		return nil, nil, err
	}
	if h.conn == nil {
		return ws, New(ws), nil
	}
	h.conn.Conn = New(ws)
	return ws, h.conn, nil
}

// hijacker puts a line below the WebSocket, where there can be one.
type hijacker struct {
	http.ResponseWriter
	conn *tryConn
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := h.ResponseWriter.(http.Hijacker).Hijack()
	if err != nil {
		return nil, nil, err
	}
	below := new(tryConn)
	if !below.line.open(conn) {
		return conn, buffers, nil
	}
	h.conn = below
	buffers.Writer.Reset(&below.line)
	return &below.line, buffers, nil
}
