// Package slowlink simulates slow network links. A [Listener] is an in-memory network
// with a slow downlink, for tests with testing/synctest. In virtual time, a transfer of
// hours takes milliseconds. A [Proxy] forwards TCP connections in real time.
package slowlink

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Listener is a net.Listener that accepts connections from Dial. It simulates the network
// between a server and clients on slow links.
type Listener struct {
	bytesPerSecond int
	buffer         int
	accepted       chan net.Conn
	closed         chan struct{}
	once           sync.Once
	carrying       sync.WaitGroup
}

// Listen returns a Listener. Each of its connections carries at most bytesPerSecond to
// the client. The rate to the server is unlimited. Like the buffers of sockets and routers, a
// connection buffers about "buffer" bytes before the server's writes block.
func Listen(bytesPerSecond, buffer int) *Listener {
	return &Listener{bytesPerSecond: bytesPerSecond, buffer: buffer, accepted: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial returns the client's end of a new connection.
func (l *Listener) Dial(context.Context, string, string) (net.Conn, error) {
	server, near := net.Pipe()
	far, client := net.Pipe()
	l.carrying.Go(func() { l.carry(far, near) })
	l.carrying.Go(func() { // the uplink has no limit
		io.Copy(near, far)
		near.Close()
	})
	select {
	case l.accepted <- server:
		return client, nil
	case <-l.closed:
		server.Close()
		client.Close()
		return nil, errors.New("connection refused: the listener is closed")
	}
}

// carry copies data from the server to the client at the limited rate, until either side
// closes.
func (l *Listener) carry(client, server net.Conn) {
	const ticksPerSecond = 10
	chunk := max(1, l.bytesPerSecond/ticksPerSecond)
	queue := make(chan []byte, max(1, l.buffer/chunk))
	l.carrying.Go(func() {
		defer close(queue)
		for {
			data := make([]byte, chunk)
			n, err := server.Read(data)
			if n > 0 {
				queue <- data[:n]
			}
			if err != nil {
				return
			}
		}
	})
	defer client.Close()
	for data := range queue {
		time.Sleep(time.Second * time.Duration(len(data)) / time.Duration(l.bytesPerSecond))
		if _, err := client.Write(data); err != nil { // the client has closed its end
			server.Close()
			for range queue {
			}
		}
	}
}

// Wait waits until both sides have closed every connection.
func (l *Listener) Wait() { l.carrying.Wait() }

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
