package client

import (
	"context"
	"errors"
	"time"

	"github.com/watchglass/watchglass/core/wire"
)

const (
	dialTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	// outgoing is the maximum number of messages that wait to be written. The engine
	// sends few small messages, so a full queue indicates a dead connection.
	outgoing = 64
)

// stream is a connection that the engine requested. Two goroutines serve it: run dials
// and reads, write writes and closes. The fields do not change after startStream.
type stream struct {
	id   uint32
	ctx  context.Context // done when the stream must end; the cause is the reason
	end  context.CancelCauseFunc
	out  chan []byte
	loop *loop
}

// arrival is an event that a stream reports to the loop.
type arrival struct {
	stream *stream
	kind   arrivalKind
	data   []byte // for dataArrived
	err    error  // for streamClosed
}

type arrivalKind uint8

const (
	streamOpened arrivalKind = iota
	dataArrived
	streamClosed
)

// startStream starts connecting a new stream. The loop waits for the goroutines of the
// stream before the loop ends.
func (l *loop) startStream(id uint32) {
	s := &stream{id: id, out: make(chan []byte, outgoing), loop: l}
	s.ctx, s.end = context.WithCancelCause(l.ctx)
	l.streams[id] = s
	l.tasks.Go(s.run)
}

// send passes a message to the writer, which then owns the message. If the queue is full,
// send ends the stream.
func (s *stream) send(message []byte) {
	select {
	case s.out <- message:
	default:
		s.end(errors.New("the connection is closing"))
	}
}

func (s *stream) run() {
	conn, err := s.dial()
	var no *refused
	switch {
	case err == nil:
		s.report(arrival{kind: streamOpened})
		s.loop.tasks.Go(func() { s.write(conn) })
		err = s.read(conn)
	case errors.As(err, &no):
		// The engine accepts a refusal only as a message from a connector, because a browser
		// does not expose the response to an upgrade.
		s.report(arrival{kind: streamOpened})
		s.report(arrival{kind: dataArrived, data: (&wire.SubscriptionStatus{Status: no.status}).Append(nil)})
	}
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	s.end(err)
	s.report(arrival{kind: streamClosed, err: err})
}

func (s *stream) dial() (Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, dialTimeout)
	defer cancel()
	return s.loop.config.Dial(ctx)
}

// read reads until the connection ends. It does not pass s.ctx to Read, because the
// writer closes the connection cleanly, which interrupts Read.
func (s *stream) read(conn Conn) error {
	for {
		message, err := conn.Read(context.WithoutCancel(s.ctx))
		if err != nil {
			return err
		}
		s.report(arrival{kind: dataArrived, data: message})
	}
}

func (s *stream) write(conn Conn) {
	for {
		select {
		case message := <-s.out:
			ctx, cancel := context.WithTimeout(s.ctx, writeTimeout)
			err := conn.Write(ctx, message)
			cancel()
			if err != nil {
				s.end(err)
			}
		case <-s.ctx.Done():
			_ = conn.Close(context.Cause(s.ctx).Error())
			return
		}
	}
}

// report waits until the loop accepts the arrival. The wait slows down a connector that
// sends faster than the engine reads.
func (s *stream) report(a arrival) {
	a.stream = s
	select {
	case s.loop.arrivals <- a:
	case <-s.loop.ctx.Done():
	}
}
