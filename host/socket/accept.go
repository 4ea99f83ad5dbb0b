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
	options.OnPingReceived = c.frames.pong
	var err error
	c.ws, err = websocket.Accept(&hijacker{w, &c.frames}, r, &options)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// hijacker is a response writer whose Hijack returns a connection that reads and writes
// through a frameConn.
type hijacker struct {
	http.ResponseWriter
	frames *frameConn
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.frames.open(conn, false)
	below := hijacked{conn, h.frames}
	if buffers.Reader.Buffered() == 0 { // always true, because a client sends no frame before it receives the response
		buffers.Reader = bufio.NewReaderSize(below, bufferBytes)
	}
	buffers.Writer = bufio.NewWriterSize(below, bufferBytes)
	return below, buffers, nil
}

// bufferBytes is the size of the read buffer and of the write buffer. A connection holds
// both buffers until it is closed. The buffers of net/http would take 4 kB each. Smaller
// buffers suffice: reading a long message bypasses the read buffer, and the library
// writes only the response to the upgrade and close frames.
const bufferBytes = 512

// hijacked is a net.Conn that reads and writes through its frameConn.
type hijacked struct {
	net.Conn
	frames *frameConn
}

func (h hijacked) Read(p []byte) (int, error)  { return h.frames.Read(p) }
func (h hijacked) Write(p []byte) (int, error) { return h.frames.Write(p) }
