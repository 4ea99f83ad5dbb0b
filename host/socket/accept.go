package socket

import (
	"bufio"
	"net"
	"net/http"

	"github.com/coder/websocket"
)

// Accept upgrades a request to an uncompressed WebSocket.
func Accept(w http.ResponseWriter, r *http.Request, options websocket.AcceptOptions) (*Conn, error) {
	c := new(Conn)
	options.CompressionMode = websocket.CompressionDisabled
	options.OnPingReceived = c.line.pong
	var err error
	c.ws, err = websocket.Accept(&hijacker{w, &c.line}, r, &options)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// hijacker puts a line below the WebSocket.
type hijacker struct {
	http.ResponseWriter
	line *line
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.line.open(conn, false)
	below := hijacked{conn, h.line}
	buffers.Writer.Reset(below)
	return below, buffers, nil
}

// hijacked is a connection that is read and written through its line.
type hijacked struct {
	net.Conn
	line *line
}

func (h hijacked) Read(p []byte) (int, error)  { return h.line.Read(p) }
func (h hijacked) Write(p []byte) (int, error) { return h.line.Write(p) }
