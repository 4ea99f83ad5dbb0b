package socket

import (
	"context"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// Dial opens an uncompressed WebSocket. It returns the server's response as
// websocket.Dial does.
func Dial(ctx context.Context, url string, options websocket.DialOptions) (*Conn, *http.Response, error) {
	c := new(Conn)
	client := http.Client{}
	if options.HTTPClient != nil {
		client = *options.HTTPClient
	}
	client.Transport = upgrader{client.Transport, &c.frames}
	options.HTTPClient = &client
	options.CompressionMode = websocket.CompressionDisabled
	options.OnPingReceived = c.frames.pong
	var resp *http.Response
	var err error
	c.ws, resp, err = websocket.Dial(ctx, url, &options)
	if err != nil {
		return nil, resp, err
	}
	return c, resp, nil
}

// upgrader is a transport that wraps a connection in a frameConn when the server has
// switched it to the WebSocket protocol.
type upgrader struct {
	transport http.RoundTripper // nil for the default
	frames    *frameConn
}

// RoundTrip implements http.RoundTripper.
func (u upgrader) RoundTrip(r *http.Request) (*http.Response, error) {
	transport := u.transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if conn, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		u.frames.open(conn, true)
		resp.Body = u.frames
	}
	return resp, nil
}
