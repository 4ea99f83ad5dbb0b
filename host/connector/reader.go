package connector

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// MessageConn is a connection to one reader. It transports complete messages in order. One
// goroutine calls Read; another one calls Write and finally Close.
type MessageConn interface {
	// Read returns the next message, which the caller owns. It returns io.EOF if the
	// reader closed the connection properly, or a *api.Status if the reader violated the
	// rules of the transport.
	Read(ctx context.Context) ([]byte, error)
	// Write sends one message, and does not retain it. It may block, which slows down only
	// the session of this reader. All calls use the same context, except the call that
	// sends the closing status.
	Write(ctx context.Context, message []byte) error
	// Close closes the connection, interrupts Read, and sends the reason to the reader if the
	// transport can. The reason is the error that Serve returns: nil if the reader left, a
	// *api.Status if the connector closes the connection, and another error if a read or
	// write failed. The connector calls Close once.
	Close(reason error) error
}

// NonblockingConn is a MessageConn that also supports nonblocking writes, so that a few
// goroutines can send a change to many readers. The connector calls TryLock and TryWrite
// from one goroutine at a time, and not during Write or Flush. Bytes that TryWrite has
// buffered are written before the bytes of Write and Close.
type NonblockingConn interface {
	MessageConn
	// TryLock prevents other writes until TryWrite, and returns true. If a write is running
	// or buffered, TryLock returns false and has no effect. It does not block.
	TryLock() bool
	// TryWrite releases the lock that TryLock acquired. It writes as much of the message as
	// possible without blocking, and reports whether it wrote the entire message. If not,
	// it buffers the rest, and the caller must call Flush. It does not retain the message.
	TryWrite(message []byte) (sent bool)
	// Flush writes the buffered bytes. Like Write, it may block.
	Flush(ctx context.Context) error
}

// reader is one connection of a reader. It implements session.Backend.
type reader struct {
	// The first fields are used for every message. They are adjacent, so that they occupy
	// few cache lines: a thousand readers do not fit in the processor's cache. connector.mu
	// guards session, sent, received and woken.
	connector *Connector
	conn      MessageConn
	signal    chan struct{} // capacity 1; there may be data to send
	ending    atomic.Bool   // there is a reason to end the connection
	woken     bool          // the reader is in connector.woken
	released  bool          // the next message may contain the status of a subscription that was refused or has ended
	session   *session.Session
	sent      Sent
	received  time.Time // when the source delivered the oldest unsent change; zero if there is none
	evaluator           // meter of the selectors; its allowance is the client's, or nil before the Hello
	sender    sender
	messages  *rate.Limiter // messages that the reader may send

	resources []api.Resource // resources that the reader may subscribe to; nil for all
	address   netip.Prefix   // address block of the client; see access.Client.Block
	number    uint64         // increases with every reader
	silence   *time.Timer    // sets silent if no Hello arrives in time; runs until the Hello
	silent    atomic.Bool    // the timer silence has fired

	ended    chan struct{}    // closed when receiving has ended
	cause    error            // why receiving ended; valid after ended is closed
	expelled chan *api.Status // capacity 1; why the reader may no longer be connected

	reviews reviews

	// Guarded by connector.mu.
	since  time.Time
	shed   bool       // disconnected by Shed
	found  *preflight // preflight results of the message that is being received
	token  string
	user   *access.User     // nil before the Hello
	rights map[uint32]grant // by subscription
	// tokenReviewAt is the time of the next review of the token.
	tokenReviewAt time.Time
	expiry        *time.Timer // expiry of the token; nil if it does not expire
	stopWatching  func() bool // cancels the registration of tokenWithdrawn; nil if there is none
}

// Serve serves one reader until the reader leaves or violates the protocol, ctx is done, or the
// connector closes. It closes conn. It returns nil if the reader left, a *api.Status if the
// connector ended the connection, and the error of conn otherwise. The error matches
// context.DeadlineExceeded if the reader did not accept a message in time.
func (c *Connector) Serve(ctx context.Context, conn MessageConn) error {
	return c.ServeShard(ctx, conn, nil, api.Shard{})
}

// ServeShard is like Serve, for a reader that may subscribe only to the given resources
// and receives only one shard of their namespaces. Nil means all resources. The caller
// must not modify the slice. All shards share the upstream watch of a resource.
func (c *Connector) ServeShard(ctx context.Context, conn MessageConn, resources []api.Resource, shard api.Shard) error {
	if status := c.connect(); status != nil {
		sendClosing(ctx, conn, status)
		conn.Close(status)
		return status
	}
	defer c.running.Done()
	r := &reader{
		connector: c,
		conn:      conn,
		resources: resources,
		address:   access.ClientOf(ctx).Block(),
		signal:    make(chan struct{}, 1),
		ended:     make(chan struct{}),
		expelled:  make(chan *api.Status, 1),
		messages:  newLimiter(c.config.Limits.Int(limit.MaxMessageRate)),
		rights:    map[uint32]grant{},
	}
	config := c.config.session()
	config.Authenticate, config.Shard, config.Meter = r.authenticate, shard, &r.meter
	config.Deflate, config.Decode = c.deflater.sections, c.decoder.Decode
	config.Refused = func(status *api.Status) {
		r.countRefusal(status)
		r.released = true
	}
	r.session = session.New(config, r)
	r.meter.Grant(1) // readers without selectors never need more
	r.sender.init(r)
	r.silence = time.AfterFunc(c.config.Limits.Duration(limit.HelloTimeout), func() {
		r.silent.Store(true)
		r.end()
	})
	r.join()
	defer r.silence.Stop()
	defer r.leave()
	return r.serve(ctx)
}

// serve receives and sends until one direction ends, and then stops the other.
func (r *reader) serve(ctx context.Context) error {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(r.connector.killed, cancel)()
	go func() {
		r.cause = r.receive(working)
		close(r.ended)
		r.end()
	}()
	stopReviews := r.startReviews(working)
	reason := r.sender.send(ctx, working)
	r.conn.Close(reason)
	cancel()
	<-r.ended
	stopReviews()
	return reason
}

func (r *reader) join() {
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	r.since = time.Now()
	r.number = c.totals.Connections
	c.readers[r] = struct{}{}
}

func (r *reader) leave() {
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	r.session.Close()
	if r.expiry != nil {
		r.expiry.Stop()
	}
	r.unwatchToken()
	c.leaveAllowance(r.allowance)
	c.connected--
	if r.user != nil {
		c.greeted--
	}
	delete(c.readers, r)
}

// receive passes messages to the session until the reader leaves or violates the protocol.
func (r *reader) receive(ctx context.Context) error {
	for {
		message, err := r.conn.Read(ctx)
		if err != nil {
			return err
		}
		parsed := r.session.Parse(message)
		if err := r.paceMessage(ctx, costOf(parsed)); err != nil {
			return err
		}
		if err := r.accept(ctx, parsed); err != nil {
			return err
		}
		r.wake()
	}
}

func (r *reader) accept(ctx context.Context, message *session.Message) error {
	found := r.preflight(ctx, message)
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	r.found = found
	err := r.session.Apply(message, c.now())
	if err != nil {
		r.countRefusal(api.AsStatus(err))
	}
	r.found = nil
	if found.prompts {
		r.requestProgress()
	}
	maps.DeleteFunc(r.rights, func(id uint32, _ grant) bool { return !r.session.Has(id) })
	if errors.Is(err, api.Protocol("")) {
		c.totals.Malformed++
	}
	return err
}

// countRefusal counts a refusal by the session. It skips refusals that preflight received,
// because they are already counted. The caller holds the lock.
func (r *reader) countRefusal(status *api.Status) {
	if r.found == nil || !r.found.has(status) {
		r.connector.config.Limits.CountStatus(status)
	}
}

// requestProgress requests progress for the reader's collections from the source. The
// caller holds the lock.
func (r *reader) requestProgress() {
	for _, col := range r.connector.collections {
		if col.readers[r] > 0 {
			col.requestProgress()
		}
	}
}

// authenticate implements session.Config.Authenticate with the decision that preflight
// received. It also enforces max-readers. The caller holds the lock.
func (r *reader) authenticate(string) *api.Status {
	switch {
	case r.found.refused != nil:
		return r.found.refused
	case r.found.user == nil: // the session found a Hello that preflight did not find
		return api.Internal("the token was not checked: send the Hello in a separate message")
	}
	if r.found.refused = r.connector.greet(); r.found.refused != nil {
		return r.found.refused
	}
	r.token = r.found.token
	r.setUser(r.found.user)
	r.allowance = r.connector.joinAllowance(r.clientName())
	r.scheduleReview()
	return nil
}

// Collection implements session.Backend. The caller holds the lock.
func (r *reader) Collection(asked *session.Request) (*session.Collection, *api.Status) {
	resource, request := asked.Resource, accessRequest(asked)
	right, known := r.found.rights[request]
	found := r.found.schemas[resource]
	switch {
	case len(r.resources) > 0 && !slices.Contains(r.resources, resource):
		return nil, api.NotFound("the connector does not send " + resource.String() + " to this reader")
	case !known:
		return nil, api.Internal("the right to " + request.String() + " was not checked")
	case right.refused != nil:
		return nil, right.refused
	case found.status != nil:
		return nil, found.status
	}
	if r.connector.config.Limits.Reached(limit.MaxMemory) { // the session counts refused subscriptions
		return nil, api.LimitReached(limit.MaxMemory.Code, limit.MaxMemory.Name, noMemory)
	}
	collection, status := r.connector.acquire(r, found.schema)
	if status == nil {
		r.rights[asked.Frame.Subscription] = grant{request, r.connector.reviewBy(right.reviewAt)}
		r.scheduleReview()
		r.chargeSubscription(asked)
	}
	return collection, status
}

// Release implements session.Backend. The caller holds the lock.
func (r *reader) Release(resource api.Resource) {
	r.released = true
	r.connector.release(r, resource)
}

// Wake implements session.Backend. It only marks the reader, because sending acquires the
// lock, which the caller holds.
func (r *reader) Wake() {
	if !r.woken {
		r.woken = true
		r.connector.woken = append(r.connector.woken, r)
	}
}
