//go:build unix

package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// balancer is a TCP load balancer. It forwards connections to the backends in turn, and
// skips a backend that refuses a connection.
type balancer struct {
	listener net.Listener
	backends []string
	running  sync.WaitGroup

	mu    sync.Mutex
	next  int
	conns map[net.Conn]bool
}

func newBalancer(backends ...string) (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{listener: listener, backends: backends, conns: map[net.Conn]bool{}}
	b.running.Go(b.accept)
	return b, nil
}

func (b *balancer) address() string { return b.listener.Addr().String() }

func (b *balancer) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		b.running.Go(func() { b.serve(client) })
	}
}

func (b *balancer) serve(client net.Conn) {
	defer client.Close()
	server, err := b.dial()
	if err != nil {
		return
	}
	defer server.Close()
	if !b.track(client, server) {
		return
	}
	defer b.forget(client, server)
	var copying sync.WaitGroup
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		copying.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // fails if either end has closed the connection
			_ = pair[0].Close()
		})
	}
	copying.Wait()
}

func (b *balancer) dial() (conn net.Conn, err error) {
	err = errors.New("no backend")
	for range b.backends {
		b.mu.Lock()
		backend := b.backends[b.next%len(b.backends)]
		b.next++
		b.mu.Unlock()
		if conn, err = net.DialTimeout("tcp", backend, time.Second); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (b *balancer) track(conns ...net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range conns {
		if b.conns != nil {
			b.conns[c] = true
		}
	}
	return b.conns != nil
}

func (b *balancer) forget(conns ...net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range conns {
		delete(b.conns, c)
	}
}

func (b *balancer) close() {
	_ = b.listener.Close()
	b.mu.Lock()
	for c := range b.conns {
		_ = c.Close()
	}
	b.conns = nil
	b.mu.Unlock()
	b.running.Wait()
}
