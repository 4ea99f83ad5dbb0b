package connector

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// MessageConn is a connection to one reader: whole messages, in order. Read is
// called from one goroutine, Write and then Close from another.
type MessageConn interface {
	// Read returns the next message, which is the caller's to keep, io.EOF
	// when the reader left in good order, or a *api.Status when it broke the
	// rules of the transport.
	Read(ctx context.Context) ([]byte, error)
	// Write sends one message, which is the caller's again afterwards. It may
	// block: that is how a slow reader holds its session back. It is called
	// with one ctx, and another for the last words.
	Write(ctx context.Context, message []byte) error
	// Close ends the connection and any Read in progress, and tells the
	// reader why where the transport can. The reason is nil when the reader
	// left, a *api.Status when it is the connector that ends it. Called once.
	Close(reason error) error
}

// TryConn is a MessageConn that can do without waiting. Readers that have one are
// told of a change by few goroutines instead of one each. Claim and Offer come
// from one goroutine at a time, and not while Write or Flush is under way. What
// Offer has kept is written before whatever Write or Close says.
type TryConn interface {
	MessageConn
	// Claim reports whether nothing is being written, nor left to be, and keeps it
	// so until Offer. It does not block.
	Claim() bool
	// Offer ends a claim. It writes a message, unless that is empty, as far as there
	// is room, and reports whether that was all of it; otherwise it keeps the rest,
	// and a Flush must come. It does not block, and the message is the caller's
	// again.
	Offer(message []byte) (sent bool)
	// Flush writes the rest of what was offered. It is like Write otherwise.
	Flush(ctx context.Context) error
}

// reader is one connection. It is the session's backend.
type reader struct {
	// What every message needs comes first: a thousand readers are not in the
	// processor's cache. session, sent and woken are guarded by connector.mu.
	connector *Connector
	conn      MessageConn
	signal    chan struct{} // cap 1: there may be something to send
	ending    atomic.Bool   // there is a reason to end the connection
	woken     bool          // it is in connector.woken
	session   *session.Session
	sent      Sent
	evaluator // of the selectors, with the allowance of the client; that is nil before the Hello
	sender    sender

	part    Part
	address netip.Prefix // of the client; see access.Client.Block
	number  uint64       // later readers have higher ones
	silence *time.Timer  // runs until the Hello
	silent  atomic.Bool  // and it ran out

	ended    chan struct{}    // closed when receiving ended
	cause    error            // why; to be read after ended
	expelled chan *api.Status // cap 1: the reader's right to be here has ended

	// granted is signaled when something was granted, so that its review can be
	// scheduled. Its capacity is 1.
	granted chan struct{}

	// Guarded by connector.mu.
	since  time.Time
	shed   bool     // Shed has disconnected it
	found  *lookups // for the message being received
	token  string
	user   *access.User     // nil before the Hello
	rights map[uint32]grant // by subscription
	// tokenReviewAt is when to review the token.
	tokenReviewAt time.Time
	expiry        *time.Timer // of the token; nil if it does not expire
	stopWatching  func() bool // for the withdrawal of the token; nil if it is not watched
}

// Part is what there is for a reader at most, whatever the policy allows. The zero
// Part is everything.
type Part struct {
	Resources []api.Resource // none for all; not to be changed
	Shard     api.Shard      // of the namespaces of each
}

// Serve serves one reader until it leaves, breaks the protocol, ctx ends or the
// connector closes; then it closes conn. It returns nil when the reader left, a
// *api.Status when the connector ended it, and else what conn failed with.
func (c *Connector) Serve(ctx context.Context, conn MessageConn) error {
	return c.ServePart(ctx, conn, Part{})
}

// ServePart serves a reader of a part, like Serve. However many parts there are,
// they share the upstream watch of a resource.
func (c *Connector) ServePart(ctx context.Context, conn MessageConn, part Part) error {
	if status := c.connect(); status != nil {
		sayGoodbye(ctx, conn, status)
		conn.Close(status)
		return status
	}
	defer c.running.Done()
	r := &reader{
		connector: c,
		conn:      conn,
		part:      part,
		address:   access.ClientOf(ctx).Block(),
		signal:    make(chan struct{}, 1),
		ended:     make(chan struct{}),
		expelled:  make(chan *api.Status, 1),
		granted:   make(chan struct{}, 1),
		rights:    map[uint32]grant{},
	}
	config := c.config.session()
	config.Authenticate, config.Shard, config.Meter = r.authenticate, part.Shard, &r.meter
	r.session = session.New(config, r)
	r.meter.Grant(1) // a reader without selectors never needs more
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

// serve runs both directions until one ends, and then ends the other.
func (r *reader) serve(ctx context.Context) error {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(r.connector.killed, cancel)()
	go func() {
		r.cause = r.receive(working)
		close(r.ended)
		r.end()
	}()
	reviewed := make(chan struct{})
	go func() {
		defer close(reviewed)
		if r.connector.config.Access != access.Everyone() {
			r.review(working)
		}
	}()
	reason := r.sender.send(ctx, working)
	r.conn.Close(reason)
	cancel()
	<-r.ended
	<-reviewed
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

// receive feeds the session until the reader leaves or breaks the protocol.
func (r *reader) receive(ctx context.Context) error {
	limiter := newLimiter(r.connector.config.Limits.Int(limit.MaxMessageRate))
	for {
		message, err := r.conn.Read(ctx)
		if err != nil {
			return err
		}
		parsed := r.session.Parse(message)
		if err := r.paceMessage(ctx, limiter, parsed.Cost()); err != nil {
			return err
		}
		if err := r.accept(ctx, parsed); err != nil {
			return err
		}
		r.wake()
	}
}

func (r *reader) accept(ctx context.Context, message *session.Message) error {
	found := r.lookUp(ctx, message)
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	r.found = found
	err := r.session.Apply(message, c.now())
	r.found = nil
	if found.prompts {
		r.prompt()
	}
	maps.DeleteFunc(r.rights, func(id uint32, _ grant) bool { return !r.session.Has(id) })
	if err != nil {
		c.config.Limits.CountStatus(api.AsStatus(err))
	}
	if errors.Is(err, api.Protocol("")) {
		c.totals.Malformed++
	}
	return err
}

// prompt asks the sources for the progress that the reader waits for. It runs
// under the lock.
func (r *reader) prompt() {
	for _, col := range r.connector.collections {
		if col.readers[r] > 0 {
			col.prompt()
		}
	}
}

// authenticate returns to the session what was decided about its Hello. It runs
// under the lock.
func (r *reader) authenticate(string) *api.Status {
	switch {
	case r.found.refused != nil:
		return r.found.refused
	case r.found.user == nil: // lookUp has not seen the Hello that the session saw
		return api.Internal("the token was not checked: send the Hello in a message of its own")
	}
	if status := r.connector.greet(); status != nil {
		return status
	}
	r.token = r.found.token
	r.become(r.found.user)
	r.allowance = r.connector.joinAllowance(r.clientName())
	r.scheduleReview()
	return nil
}

// Collection implements session.Backend. It runs under the lock.
func (r *reader) Collection(asked *session.Request) (*cacher.Cacher, *api.Status) {
	resource, request := asked.Resource, accessRequest(asked)
	right, known := r.found.rights[request]
	found := r.found.schemas[resource]
	switch {
	case len(r.part.Resources) > 0 && !slices.Contains(r.part.Resources, resource):
		return nil, api.NotFound("this connector does not bring " + resource.String() + " here")
	case !known:
		return nil, api.Internal("the right to " + request.String() + " was not looked up")
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
