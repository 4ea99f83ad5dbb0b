package socket

import (
	"context"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/host/limit"
)

// pongTimeout is longer than a connector takes to give up on a message, because
// a ping waits for the message before it.
var pongTimeout = time.Duration(limit.WriteTimeout.Default) + 15*time.Second

// KeepAlive asks the other side for a sign of life every so often, and drops the
// connection when none comes, until stop is called, which waits for the end of it.
func KeepAlive(ws *websocket.Conn, interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		keepAlive(ctx, ws, interval)
	}()
	return func() {
		cancel()
		<-done
	}
}

func keepAlive(ctx context.Context, ws *websocket.Conn, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		pong, cancel := context.WithTimeout(ctx, pongTimeout)
		err := ws.Ping(pong)
		cancel()
		if err != nil {
			ws.CloseNow()
			return
		}
	}
}
