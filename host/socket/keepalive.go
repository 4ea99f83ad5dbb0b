package socket

import (
	"context"
	"time"
)

// maxUnanswered is the maximum number of consecutive pings without a response.
// Responses may be late, because they wait for data sent before the ping, which may
// be several hundred kilobytes in buffers.
const maxUnanswered = 4

// KeepAlive pings the other side at the interval until stop is called, and closes
// the connection if there is no response. stop waits for the goroutine to end.
// KeepAlive does not ping during a write, which has a time limit.
func (c *Conn) KeepAlive(interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.keepAlive(ctx, interval)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (c *Conn) keepAlive(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var lastReads uint64
	unanswered := 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if reads := c.line.reads.Load(); reads != lastReads {
			lastReads, unanswered = reads, 0
		}
		if unanswered >= maxUnanswered {
			c.ws.CloseNow()
			return
		}
		sent, err := c.ping(maxUnanswered * interval)
		if err != nil {
			c.ws.CloseNow()
			return
		}
		if sent {
			unanswered++
		}
	}
}

// ping closes a connection that does not accept a ping in time.
func (c *Conn) ping(timeout time.Duration) (sent bool, err error) {
	defer time.AfterFunc(timeout, func() { c.ws.CloseNow() }).Stop()
	return c.line.ping()
}
