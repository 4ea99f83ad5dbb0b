package connector

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/limit"
)

const (
	// goodbyeTimeout bounds the last words to a reader.
	goodbyeTimeout = 5 * time.Second
	// bulkBytes is the size from which on a message is taken for a part of
	// something long, such as a snapshot.
	bulkBytes = 16 << 10
)

// sender is the writing side of a reader. It sleeps on one channel, to which
// everything leads that could be a reason to look; what the reason was it finds
// out when it looks.
type sender struct {
	*reader
	try TryConn // nil if the connection is none
	// busy is held by whoever writes: the goroutine of send, but for when it sleeps.
	// Nobody else waits for it. It guards what follows, but for began.
	busy  sync.Mutex
	bulk  bool        // the last message was long, and so the next may be
	left  bool        // something was offered and is to be flushed
	long  []byte      // a message to be written in fragments, which takes a while
	alarm *time.Timer // wakes the reader at a time
	at    int64       // that time, in milliseconds of the connector's clock
	// began is when the message began that is being written, by the same clock;
	// zero when none is.
	began atomic.Int64
}

// init leaves it busy.
func (s *sender) init(r *reader) {
	s.reader, s.bulk = r, true
	s.try, _ = r.conn.(TryConn)
	s.busy.Lock()
}

// buffers are for messages, of which there is one for each reader that is being
// written to.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// wake tells send to look again. It never blocks.
func (r *reader) wake() {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// end tells send that there is a reason to end the connection. Which it is lies
// where over looks for it.
func (r *reader) end() {
	r.ending.Store(true)
	r.wake()
}

// send pulls messages out of the session and writes them, until there is a
// reason to end the connection, which it returns, and stays busy. Writes use
// working, so that the end of ctx does not cut a message short.
func (s *sender) send(ctx, working context.Context) error {
	defer context.AfterFunc(ctx, s.end)()
	defer context.AfterFunc(s.connector.stopping, s.end)()
	writing, cancel := context.WithCancelCause(working)
	defer cancel(nil)
	s.alarm = time.AfterFunc(idleMillis*time.Millisecond, s.wake)
	defer s.alarm.Stop()
	defer s.guard(writing, cancel)()
	for {
		if s.ending.Load() {
			if over, err := s.over(ctx, working); over {
				return err
			}
		}
		due, err := s.sendNext(writing)
		if err != nil {
			return err
		}
		if !due.again {
			s.wakeAt(due)
			s.busy.Unlock()
			<-s.signal
			s.busy.Lock()
		}
	}
}

// errStalled is why a reader is given up that does not take a message.
var errStalled = stalledError{}

type stalledError struct{}

func (stalledError) Error() string { return "the reader took too long to take a message" }

// Unwrap says that it is a matter of time.
func (stalledError) Unwrap() error { return context.DeadlineExceeded }

// over looks whether there is a reason to end the connection, and says goodbye.
func (s *sender) over(ctx, working context.Context) (over bool, err error) {
	select {
	case <-s.ended:
		return true, s.lastWords(working)
	default:
	}
	select {
	case status := <-s.expelled:
		return true, s.goodbye(working, status)
	default:
	}
	switch {
	case ctx.Err() != nil || s.connector.stopping.Err() != nil:
		return true, s.goodbye(working, s.connector.goodbye())
	case s.silent.Load():
		return true, s.goodbye(working, s.connector.errSilent())
	}
	return false, nil
}

func (c *Connector) errSilent() *api.Status {
	return c.config.Limits.Refuse(limit.HelloTimeout, "no Hello has come in time: the first message must begin with a Hello frame")
}

// sendNext writes the next message, if there is one, and returns when the one
// after it is due.
func (s *sender) sendNext(ctx context.Context) (due due, err error) {
	if s.left {
		s.left = false
		if err := s.write(ctx, s.connector.now(), s.try.Flush); err != nil {
			return due, err
		}
	}
	if len(s.long) > 0 {
		long := s.long
		s.long = nil
		if err := s.writeMessage(ctx, long); err != nil {
			return due, err
		}
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	message, due := s.pull(buffer)
	if len(message) > 0 {
		err = s.writeMessage(ctx, message)
	}
	return due, err
}

// writeMessage writes a message, in fragments if it is long. Each of them has the
// whole WriteTimeout: a reader lives as long as it makes progress.
func (s *sender) writeMessage(ctx context.Context, message []byte) error {
	return wire.Split(message, s.connector.config.MessageBytes, func(piece []byte) error {
		return s.write(ctx, s.connector.now(), func(ctx context.Context) error { return s.conn.Write(ctx, piece) })
	})
}

func (s *sender) pull(buffer *[]byte) (message []byte, due due) {
	message, due = s.next((*buffer)[:0], s.bulk)
	*buffer = message
	s.bulk = len(message) >= bulkBytes || due.again
	return message, due
}

// write does so under the eyes of guard.
func (s *sender) write(ctx context.Context, now int64, f func(context.Context) error) error {
	s.began.Store(now)
	err := f(ctx)
	s.began.Store(0)
	if err != nil && context.Cause(ctx) == errStalled {
		err = errStalled
		s.connector.config.Limits.Count(limit.WriteTimeout)
	}
	return err
}

// trySend sends the next message in place of the sender's goroutine, if that sleeps
// and nobody has to wait. It wakes it to what is left to do.
func (s *sender) trySend() {
	if !s.busy.TryLock() {
		s.wake()
		return
	}
	defer s.busy.Unlock()
	if s.left || s.bulk || len(s.long) > 0 || s.ending.Load() || !s.try.Claim() {
		s.wake()
		return
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	message, due := s.pull(buffer)
	if len(message) > 2*s.connector.config.MessageBytes {
		s.long, message = slices.Clone(message), nil
	}
	s.left = !s.try.Offer(message)
	if s.left || len(s.long) > 0 || due.again {
		s.wake()
		return
	}
	s.wakeAt(due)
}

// guard cancels ctx when a message takes too long to be written. It looks when
// one could have, rather than set a timer for each of them. What it returns stops
// it, or the end of ctx does if it is looking just then.
func (s *sender) guard(ctx context.Context, cancel context.CancelCauseFunc) (stop func() bool) {
	timeout := s.connector.config.Limits.Duration(limit.WriteTimeout)
	var timer *time.Timer
	look := func() {
		left := timeout
		if began := s.began.Load(); began != 0 {
			left -= time.Duration(s.connector.now()-began) * time.Millisecond
		}
		switch {
		case left <= 0:
			cancel(errStalled)
		case ctx.Err() == nil:
			timer.Reset(left)
		}
	}
	timer = time.AfterFunc(idleMillis*time.Millisecond, look)
	timer.Reset(timeout)
	return timer.Stop
}

// due is when there is something to send again, unless something happens before.
type due struct {
	again bool  // there is more now
	now   int64 // when that was found out, in milliseconds of the connector's clock
	at    int64 // by the same clock, and later
}

// wakeAt sees to it that the reader is woken when the next message is due, at the
// latest.
func (s *sender) wakeAt(due due) {
	if s.at <= due.now || due.at < s.at {
		s.at = due.at
		s.alarm.Reset(time.Duration(due.at-s.connector.now()) * time.Millisecond)
	}
}

// idleMillis is how long send sleeps when the session has no wish of its own.
const idleMillis = 60 * 60 * 1000

// next appends the bytes to send now to a buffer, and returns when the next ones are
// due. Readers with long messages take turns, for example when a thousand reconnect at
// once, so that other users of the lock wait for one of them at most. A reader whose
// client has used up its selector evaluations waits until more are granted.
func (r *reader) next(buffer []byte, bulk bool) (message []byte, next due) {
	c := r.connector
	if bulk {
		c.turn.Lock()
		defer c.turn.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next.now = c.now()
	if wait := c.evaluate(&r.evaluator); wait > 0 {
		next.at = next.now + wait.Milliseconds() + 1
		return buffer, next
	}
	message = r.session.AppendNext(buffer, c.config.MessageBytes, next.now)
	if len(message) > 0 {
		c.totals.Messages++
		c.totals.BytesOut += uint64(len(message))
		r.sent.Messages++
		r.sent.Bytes += uint64(len(message))
	}
	next.again = len(message) >= c.config.MessageBytes || r.meter.Exhausted()
	next.at = next.now + idleMillis
	if at := r.session.Wake(); at > 0 {
		next.at = max(at, next.now+1)
	}
	return message, next
}

// lastWords ends a connection whose reader left or broke the protocol. The
// session has said to the latter what was wrong.
func (r *reader) lastWords(ctx context.Context) error {
	var status *api.Status
	switch {
	case errors.Is(r.cause, io.EOF):
		return nil
	case !errors.As(r.cause, &status):
		return r.cause
	}
	message, _ := r.next(nil, false)
	if len(message) == 0 { // the transport found it out, not the session
		return r.goodbye(ctx, status)
	}
	ctx, cancel := context.WithTimeout(ctx, goodbyeTimeout)
	defer cancel()
	r.conn.Write(ctx, message) // the reader may be gone, and that is fine
	return status
}

func (r *reader) goodbye(ctx context.Context, status *api.Status) error {
	sayGoodbye(ctx, r.conn, status)
	return status
}

// sayGoodbye tells a reader why its connection ends, if it still listens.
func sayGoodbye(ctx context.Context, conn MessageConn, status *api.Status) {
	ctx, cancel := context.WithTimeout(ctx, goodbyeTimeout)
	defer cancel()
	conn.Write(ctx, (&wire.SubscriptionStatus{Status: status}).Append(nil))
}
