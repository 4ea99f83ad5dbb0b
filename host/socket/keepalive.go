package socket

import (
	"sync"
	"time"
)

// maxUnanswered is the maximum number of consecutive pings without a response. A
// response may be late, because the peer first receives the data that was sent before
// the ping. Buffers can contain several hundred kilobytes of such data.
const maxUnanswered = 4

// KeepAlive pings the peer at the interval until stop is called, and closes the connection
// if the peer does not respond. The function stop waits for a ping that is being sent.
// KeepAlive does not ping during a write, because each write already has a time limit.
//
// KeepAlive uses a timer, because the stack of a goroutine would take memory for each idle
// connection.
func (c *Conn) KeepAlive(interval time.Duration) (stop func()) {
	k := &keepAlive{conn: c, interval: interval}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(interval, k.tick)
	return k.stop
}

type keepAlive struct {
	conn     *Conn
	interval time.Duration

	mu         sync.Mutex // held while a ping is sent
	timer      *time.Timer
	stopped    bool
	lastReads  uint64
	unanswered int
}

func (k *keepAlive) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer.Stop()
	k.stopped = true
}

// tick sends a ping and restarts the timer, or closes a dead connection. The timer calls
// tick in a new goroutine.
func (k *keepAlive) tick() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	if !k.ping() {
		k.conn.ws.CloseNow()
		return
	}
	k.timer.Reset(k.interval)
}

// ping sends a ping, unless a write is in progress. It returns true, or false if the
// connection is dead: the last maxUnanswered pings were not answered, or the ping cannot
// be written in time.
func (k *keepAlive) ping() bool {
	if reads := k.conn.frames.reads.Load(); reads != k.lastReads {
		k.lastReads, k.unanswered = reads, 0
	}
	if k.unanswered >= maxUnanswered {
		return false
	}
	defer time.AfterFunc(maxUnanswered*k.interval, func() { k.conn.ws.CloseNow() }).Stop()
	sent, err := k.conn.frames.ping()
	if sent {
		k.unanswered++
	}
	return err == nil
}
