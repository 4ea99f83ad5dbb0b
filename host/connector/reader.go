package connector

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
)

// MessageConn is a connection to one reader: whole messages, in order. Read is
// called from one goroutine, Write and then Close from another.
type MessageConn interface {
	// Read returns the next message, which is the caller's to keep, io.EOF
	// when the reader left in good order, or a *api.Status when it broke the
	// rules of the transport.
	Read(ctx context.Context) ([]byte, error)
	// Write sends one message. It may block: that is how a slow reader holds
	// its session back.
	Write(ctx context.Context, message []byte) error
	// Close ends the connection and any Read in progress, and tells the
	// reader why where the transport can. The reason is nil when the reader
	// left, a *api.Status when it is the connector that ends it. Called once.
	Close(reason error) error
}

// goodbyeTimeout bounds the last words to a reader.
const goodbyeTimeout = 5 * time.Second

// reader is one connection. It is the session's backend.
type reader struct {
	connector *Connector
	conn      MessageConn
	signal    chan struct{} // cap 1: there may be something to send
	silence   *time.Timer   // runs until the first message

	ended    chan struct{}    // closed when receiving ended
	cause    error            // why; to be read after ended
	expelled chan *api.Status // cap 1: the reader's right to be here has ended

	// Guarded by connector.mu. The receiving goroutine alone writes token and
	// user.
	session *session.Session
	woken   bool     // it is in connector.woken
	found   *lookups // for the message being received
	token   string
	user    *access.User              // nil before the Hello
	rights  map[uint32]access.Request // of subscriptions that were granted
}

// Serve serves one reader until it leaves, breaks the protocol, ctx ends or the
// connector closes; then it closes conn. It returns nil when the reader left, a
// *api.Status when the connector ended it, and else what conn failed with.
func (c *Connector) Serve(ctx context.Context, conn MessageConn) error {
	if status := c.admit(); status != nil {
		sayGoodbye(ctx, conn, status)
		conn.Close(status)
		return status
	}
	defer c.running.Done()
	r := &reader{
		connector: c,
		conn:      conn,
		signal:    make(chan struct{}, 1),
		silence:   time.NewTimer(c.config.HelloTimeout),
		ended:     make(chan struct{}),
		expelled:  make(chan *api.Status, 1),
		rights:    map[uint32]access.Request{},
	}
	config := c.config.Session
	config.Authenticate = r.authenticate
	r.session = session.New(config, r)
	defer r.silence.Stop()
	defer r.leave()
	return r.serve(ctx)
}

// serve runs both directions until one ends, and then ends the other.
func (r *reader) serve(ctx context.Context) error {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(r.connector.killed, cancel)()
	go func() {
		defer close(r.ended)
		r.cause = r.receive(working)
	}()
	reviewed := make(chan struct{})
	go func() {
		defer close(reviewed)
		if r.connector.config.Access != access.Everyone() {
			r.review(working)
		}
	}()
	reason := r.send(ctx, working)
	r.conn.Close(reason)
	cancel()
	<-r.ended
	<-reviewed
	return reason
}

func (r *reader) leave() {
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	r.session.Close()
	c.readers--
}

// receive feeds the session until the reader leaves or breaks the protocol.
func (r *reader) receive(ctx context.Context) error {
	for {
		message, err := r.conn.Read(ctx)
		if err != nil {
			return err
		}
		r.silence.Stop()
		if err := r.accept(ctx, message); err != nil {
			return err
		}
		r.wake()
	}
}

func (r *reader) accept(ctx context.Context, message []byte) error {
	found := r.lookUp(ctx, message)
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	r.found = found
	err := r.session.Receive(message, c.now())
	r.found = nil
	maps.DeleteFunc(r.rights, func(id uint32, _ access.Request) bool { return !r.session.Has(id) })
	if err != nil {
		c.totals.Malformed++
	}
	return err
}

// authenticate is the session's question after a Hello. It runs under the lock.
func (r *reader) authenticate(string) *api.Status {
	r.token, r.user = r.found.token, r.found.user
	return r.found.refused
}

// Collection implements session.Backend. It runs under the lock.
func (r *reader) Collection(resource api.Resource, f *wire.Subscribe) (*cacher.Cacher, *api.Status) {
	request := access.NewRequest(resource, strings.Clone(f.Namespace), strings.Clone(f.FieldSelector))
	refused, asked := r.found.rights[request]
	found := r.found.schemas[resource]
	switch {
	case !asked:
		return nil, api.TooManyRequests("too many subscriptions in one message: send them in several", 1)
	case refused != nil:
		return nil, refused
	case found.status != nil:
		return nil, found.status
	}
	collection, status := r.connector.acquire(r, found.schema)
	if status == nil {
		r.rights[f.Subscription] = request
	}
	return collection, status
}

// Release implements session.Backend. It runs under the lock.
func (r *reader) Release(resource api.Resource) { r.connector.release(r, resource) }

// Wake implements session.Backend. It runs under the lock, which send wants to
// have, and so leaves the waking for later.
func (r *reader) Wake() {
	if !r.woken {
		r.woken = true
		r.connector.woken = append(r.connector.woken, r)
	}
}

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
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.ended:
			return r.lastWords(working)
		case <-ctx.Done():
			return r.goodbye(working, errClosing())
		case <-r.connector.stopping.Done():
			return r.goodbye(working, errClosing())
		default:
		}
		select {
		case status := <-r.expelled:
			return r.goodbye(working, status)
		default:
		}
		message, wait := r.next()
		if message != nil {
			if err := r.write(working, message, r.connector.config.WriteTimeout); err != nil {
				return err
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-r.signal:
		case <-timer.C:
		case <-r.silence.C:
			return r.goodbye(working, errSilent())
		case <-r.ended:
		case status := <-r.expelled:
			return r.goodbye(working, status)
		case <-ctx.Done():
		case <-r.connector.stopping.Done():
		}
	}
}

func errSilent() *api.Status {
	return &api.Status{
		Code: 408, Reason: api.ReasonTimeout,
		Message: "the reader connected and said nothing: the first message must have come by now, and begin with a Hello frame",
	}
}

// idle is how long send sleeps when the session has no wish of its own.
const idle = time.Hour

// next is what to send now, or nil and how long there will be nothing unless
// something happens.
func (r *reader) next() (message []byte, wait time.Duration) {
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if message = r.session.Next(c.config.MessageBytes, now); len(message) > 0 {
		c.totals.Messages++
		c.totals.BytesOut += uint64(len(message))
		return message, 0
	}
	if at := r.session.Wake(); at > 0 {
		return nil, max(time.Duration(at-now)*time.Millisecond, time.Millisecond)
	}
	return nil, idle
}

func (r *reader) write(ctx context.Context, message []byte, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.conn.Write(ctx, message)
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
	message, _ := r.next()
	if message == nil { // the transport found it out, not the session
		return r.goodbye(ctx, status)
	}
	r.write(ctx, message, goodbyeTimeout) // the reader may be gone, and that is fine
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
