package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/wire"
)

// broadcastSide is the plain broadcast: a loop writes a prepared message to all sockets.
type broadcastSide struct {
	server  *http.Server
	readers *readerProcess
	share   int
	message []byte
	next    int
	events  int // number of events in the next round

	mu    sync.Mutex
	conns []*websocket.Conn
}

func newBroadcastSide(ctx context.Context, readers, share, size int) (*broadcastSide, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &broadcastSide{share: share, message: make([]byte, size), conns: make([]*websocket.Conn, readers)}
	b.server = &http.Server{Handler: http.HandlerFunc(b.accept)}
	go b.server.Serve(listener) // returns when close is called
	if b.readers, err = startReaders(ctx, "ws://"+listener.Addr().String(), broadcastKind, readers, share); err != nil {
		b.server.Close()
		return nil, err
	}
	return b, nil
}

func (b *broadcastSide) accept(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{wire.Subprotocol}})
	if err != nil {
		return
	}
	i, err := strconv.Atoi(r.Header.Get("Reader"))
	if err != nil || i < 0 || i >= len(b.conns) {
		conn.CloseNow()
		return
	}
	b.mu.Lock()
	b.conns[i] = conn
	b.mu.Unlock()
	conn.Read(context.Background()) // returns when the reader disconnects
}

func (b *broadcastSide) prepare(events int) { b.events = events }

func (b *broadcastSide) round() error {
	shards := len(b.conns) / b.share
	for range b.events {
		for i := b.next % shards; i < len(b.conns); i += shards {
			b.mu.Lock()
			conn := b.conns[i]
			b.mu.Unlock()
			if conn == nil {
				return errors.New("a reader is not connected")
			}
			if err := conn.Write(context.Background(), websocket.MessageBinary, b.message); err != nil {
				return err
			}
		}
		b.next++
		rest()
	}
	return nil
}

func (b *broadcastSide) close() {
	b.readers.close()
	b.server.Close()
}
