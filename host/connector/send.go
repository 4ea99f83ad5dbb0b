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
	// closingTimeout limits the time for sending the closing status.
	closingTimeout = 5 * time.Second
	// bulkBytes is the minimum size of a message that the sender treats as part of a long
	// transfer, such as a snapshot.
	bulkBytes = 16 << 10
)

// sender is the writing side of a reader. It sleeps on the channel signal, which all
// kinds of events share. After waking up, it checks which events happened.
type sender struct {
	*reader
	try NonblockingConn // nil if the connection does not implement NonblockingConn
	// busy is held by the writer, which is usually the goroutine of send while it is awake.
	// Only this goroutine waits for busy; others use TryLock. busy guards the following
	// fields except began.
	busy  sync.Mutex
	bulk  bool        // the last message was long, so the next may be long
	left  bool        // TryWrite has buffered bytes to flush
	long  []byte      // a message that is being written in fragments
	alarm *time.Timer // wakes the reader at the time at
	at    int64       // time of the alarm, in milliseconds of the connector's clock
	// received is when the source delivered the oldest change of the message that is being
	// written.
	received time.Time
	// began is the start time of the current write, in milliseconds of the connector's
	// clock, or zero if there is none.
	began atomic.Int64
}

// init prepares s to write to r, and returns with busy locked.
func (s *sender) init(r *reader) {
	s.reader, s.bulk = r, true
	s.try, _ = r.conn.(NonblockingConn)
	s.busy.Lock()
}

// buffers contains message buffers. A reader uses a buffer only during a write, so idle
// readers need none.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// wake makes send check for work. It never blocks.
func (r *reader) wake() {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// end makes send check the reasons to end the connection.
func (r *reader) end() {
	r.ending.Store(true)
	r.wake()
}

// send pulls messages from the session and writes them until there is a reason to end the
// connection. It returns this reason, or nil if the reader left, with busy locked. Writes
// use the context working, so that canceling ctx does not truncate a message.
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

// errStalled is the reason for closing the connection of a reader that does not
// accept a message in time.
var errStalled = stalledError{}

type stalledError struct{}

func (stalledError) Error() string { return "the reader did not accept a message in time" }

// Unwrap makes the error match context.DeadlineExceeded.
func (stalledError) Unwrap() error { return context.DeadlineExceeded }

// over reports whether there is a reason to end the connection. If so, it sends the
// closing status and returns the error for send to return.
func (s *sender) over(ctx, working context.Context) (over bool, err error) {
	select {
	case <-s.ended:
		return true, s.closeAfterReceive(working)
	default:
	}
	select {
	case status := <-s.expelled:
		return true, s.endWith(working, status)
	default:
	}
	switch {
	case ctx.Err() != nil || s.connector.stopping.Err() != nil:
		return true, s.endWith(working, s.connector.closing())
	case s.silent.Load():
		return true, s.endWith(working, s.connector.errSilent())
	}
	return false, nil
}

func (c *Connector) errSilent() *api.Status {
	return c.config.Limits.Refuse(limit.HelloTimeout, "no Hello was received in time: the first message must begin with a Hello frame")
}

// sendNext completes a write that trySend has begun, and writes the next message, if
// there is one. The result due specifies when to send the following message.
func (s *sender) sendNext(ctx context.Context) (due due, err error) {
	if s.left {
		s.left = false
		if err := s.write(ctx, s.connector.now(), s.try.Flush); err != nil {
			return due, err
		}
		s.delivered()
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

// writeMessage writes a message, in fragments if it is long. Each fragment may take the
// full WriteTimeout, so that slow readers stay connected as long as they make progress.
func (s *sender) writeMessage(ctx context.Context, message []byte) error {
	err := wire.Split(message, s.connector.config.MessageBytes, func(piece []byte) error {
		return s.write(ctx, s.connector.now(), func(ctx context.Context) error { return s.conn.Write(ctx, piece) })
	})
	if err == nil {
		s.delivered()
	}
	return err
}

// delivered reports the delivery of the written message to Timings, if the message has
// changes.
func (s *sender) delivered() {
	if !s.received.IsZero() {
		s.connector.config.Timings.Delivery(time.Since(s.received))
		s.received = time.Time{}
	}
}

func (s *sender) pull(buffer *[]byte) (message []byte, due due) {
	message, due = s.next((*buffer)[:0], s.bulk)
	*buffer = message
	s.received = due.received
	s.bulk = len(message) >= bulkBytes || due.again
	return message, due
}

// write calls f. If f takes longer than WriteTimeout, guard cancels ctx.
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

// trySend sends the next message in place of the sender's goroutine, if that goroutine is
// sleeping and the write does not block. It wakes the goroutine if work remains.
func (s *sender) trySend() {
	if !s.busy.TryLock() {
		s.wake()
		return
	}
	defer s.busy.Unlock()
	if s.left || s.bulk || len(s.long) > 0 || s.ending.Load() || !s.try.TryLock() {
		s.wake()
		return
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	message, due := s.pull(buffer)
	if len(message) > 2*s.connector.config.MessageBytes {
		s.long, message = slices.Clone(message), nil
	}
	s.left = !s.try.TryWrite(message)
	if !s.left && len(s.long) == 0 {
		s.delivered()
	}
	if s.left || len(s.long) > 0 || due.again {
		s.wake()
		return
	}
	s.wakeAt(due)
}

// guard cancels ctx if a write takes longer than WriteTimeout. One timer serves all writes:
// it fires at the earliest time at which the current or the next write can exceed the
// limit. The timer stops when stop is called, or when it next fires after ctx is done.
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

// due describes when to send the next message, unless an event wakes the sender earlier.
type due struct {
	again    bool      // more can be sent now
	received time.Time // when the source delivered the oldest change of the message; zero if there is none
	now      int64     // the current time in milliseconds of the connector's clock
	at       int64     // when the next message is due, by the same clock
}

// wakeAt sets the alarm so that the sender wakes by the time the next message is due.
func (s *sender) wakeAt(due due) {
	if s.at <= due.now || due.at < s.at {
		s.at = due.at
		s.alarm.Reset(time.Duration(due.at-s.connector.now()) * time.Millisecond)
	}
}

// idleMillis is how long send sleeps if the session has no deadline.
const idleMillis = 60 * 60 * 1000

// next appends the next message to a buffer, and returns when the message after it is due.
// Readers with long messages take turns, so that other users of the lock wait for at most
// one such reader. Without turns, they could wait for a thousand reconnecting readers. When
// a client has used up its selector evaluations, its readers receive only messages that
// need no evaluations, such as refusals and source errors.
func (r *reader) next(buffer []byte, bulk bool) (message []byte, next due) {
	c := r.connector
	if bulk {
		c.turn.lock()
		defer c.turn.unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next.now = c.now()
	wait := c.evaluate(&r.evaluator)
	message = r.session.AppendNext(buffer, c.config.MessageBytes, next.now)
	if r.released {
		r.released = false
		c.countErrors(message)
	}
	if len(message) > 0 {
		c.totals.Messages++
		c.totals.BytesOut += uint64(len(message))
		next.received, r.received = r.received, time.Time{}
		r.sent.Messages++
		r.sent.Bytes += uint64(len(message))
	}
	next.again = r.session.More() || wait == 0 && r.meter.Exhausted()
	next.at = next.now + idleMillis
	if at := r.session.Wake(); at > 0 {
		next.at = max(at, next.now+1)
	}
	if wait > 0 {
		next.at = min(next.at, next.now+wait.Milliseconds()+1)
	}
	return message, next
}

// closeAfterReceive returns nil if the reader left. If the reader violated the protocol,
// closeAfterReceive sends and returns the status, which the session has usually queued.
func (r *reader) closeAfterReceive(ctx context.Context) error {
	var status *api.Status
	switch {
	case errors.Is(r.cause, io.EOF):
		return nil
	case !errors.As(r.cause, &status):
		return r.cause
	}
	message, _ := r.next(nil, false)
	if len(message) == 0 { // the transport detected the violation, not the session
		return r.endWith(ctx, status)
	}
	ctx, cancel := context.WithTimeout(ctx, closingTimeout)
	defer cancel()
	r.conn.Write(ctx, message) // ignore an error, because the reader may be gone
	return status
}

func (r *reader) endWith(ctx context.Context, status *api.Status) error {
	sendClosing(ctx, r.conn, status)
	return status
}

// sendClosing sends the reason for closing the connection to the reader, if the reader
// still reads.
func sendClosing(ctx context.Context, conn MessageConn, status *api.Status) {
	ctx, cancel := context.WithTimeout(ctx, closingTimeout)
	defer cancel()
	conn.Write(ctx, (&wire.SubscriptionStatus{Status: status}).Append(nil))
}
