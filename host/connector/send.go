package connector

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
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
	bulk  bool        // the last message was long, and so the next may be
	alarm *time.Timer // wakes the reader at a time
	at    time.Time   // that time; zero when it is past
	// began is when the message began that is being written, in nanoseconds of
	// the connector's clock; zero when none is.
	began atomic.Int64
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

// send pulls messages out of the session and writes them, until there is a
// reason to end the connection, which it returns. Writes use working, so that
// the end of ctx does not cut a message short.
func (r *reader) send(ctx, working context.Context) error {
	defer context.AfterFunc(ctx, r.wake)()
	defer context.AfterFunc(r.connector.stopping, r.wake)()
	writing, cancel := context.WithCancelCause(working)
	defer cancel(nil)
	s := &sender{reader: r, bulk: true}
	s.alarm = time.AfterFunc(idle, r.wake)
	defer s.alarm.Stop()
	defer s.guard(writing, cancel)()
	for {
		if over, err := s.over(ctx, working); over {
			return err
		}
		wait, err := s.sendNext(writing)
		if err != nil {
			return err
		}
		if wait > 0 {
			s.wakeAfter(wait)
			<-r.signal
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
		return true, s.goodbye(working, errClosing())
	case s.silent.Load():
		return true, s.goodbye(working, errSilent())
	}
	return false, nil
}

func errSilent() *api.Status {
	return &api.Status{
		Code: 408, Reason: api.ReasonTimeout,
		Message: "the reader connected and said nothing: the first message must have come by now, and begin with a Hello frame",
	}
}

// sendNext writes the next message, if there is one, and returns how long there
// will be no other.
func (s *sender) sendNext(ctx context.Context) (wait time.Duration, err error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	message, wait := s.next((*buffer)[:0], s.bulk)
	*buffer = message
	s.bulk = len(message) >= bulkBytes
	if len(message) == 0 {
		return wait, nil
	}
	s.began.Store(int64(time.Since(s.connector.start)) | 1)
	err = s.conn.Write(ctx, message)
	s.began.Store(0)
	if err != nil && context.Cause(ctx) == errStalled {
		err = errStalled
	}
	return wait, err
}

// guard cancels ctx when a message takes too long to be written. It looks when
// one could have, rather than set a timer for each of them. What it returns stops
// it, or the end of ctx does if it is looking just then.
func (s *sender) guard(ctx context.Context, cancel context.CancelCauseFunc) (stop func() bool) {
	timeout := s.connector.config.WriteTimeout
	var timer *time.Timer
	look := func() {
		left := timeout
		if began := s.began.Load(); began != 0 {
			left -= time.Since(s.connector.start) - time.Duration(began)
		}
		switch {
		case left <= 0:
			cancel(errStalled)
		case ctx.Err() == nil:
			timer.Reset(left)
		}
	}
	timer = time.AfterFunc(idle, look)
	timer.Reset(timeout)
	return timer.Stop
}

// wakeAfter sees to it that the reader is woken after a time at the latest.
func (s *sender) wakeAfter(wait time.Duration) {
	now := time.Now()
	if at := now.Add(wait); !s.at.After(now) || at.Before(s.at) {
		s.at = at
		s.alarm.Reset(wait)
	}
}

// idle is how long send sleeps when the session has no wish of its own.
const idle = time.Hour

// next appends what to send now to a buffer, and says how long there will be
// nothing more unless something happens; zero if there is more now. Readers that are sent something long, as a
// thousand are that come back at once, take turns: whoever else wants the lock
// waits for one of them and not for all.
func (r *reader) next(buffer []byte, bulk bool) (message []byte, wait time.Duration) {
	c := r.connector
	if bulk {
		c.turn.Lock()
		defer c.turn.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	message = r.session.AppendNext(buffer, c.config.MessageBytes, now)
	if len(message) > 0 {
		c.totals.Messages++
		c.totals.BytesOut += uint64(len(message))
		r.sent.Messages++
		r.sent.Bytes += uint64(len(message))
	}
	if len(message) >= c.config.MessageBytes {
		return message, 0
	}
	if at := r.session.Wake(); at > 0 {
		return message, max(time.Duration(at-now)*time.Millisecond, time.Millisecond)
	}
	return message, idle
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
