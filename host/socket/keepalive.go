package socket

import (
	"context"
	"time"
)

// maxUnanswered is how many pings in a row may go without any sign of life. An
// answer may come late: it waits for what was sent before the ping, which may be
// several hundred kilobytes in buffers on the way.
const maxUnanswered = 4

// KeepAlive asks the other side for a sign of life every interval and closes the
// connection when none comes, until stop is called, which waits for the end of it.
// It does not ask while a message is being written: the writer has a time limit.
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
	var heard uint64
	unanswered := 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if reads := c.line.reads.Load(); reads != heard {
			heard, unanswered = reads, 0
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

// ping closes a connection that does not take a ping in time.
func (c *Conn) ping(timeout time.Duration) (sent bool, err error) {
	defer time.AfterFunc(timeout, func() { c.ws.CloseNow() }).Stop()
	return c.line.ping()
}
