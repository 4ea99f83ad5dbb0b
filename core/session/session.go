package session

import (
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// Backend provides the collections that a session serves.
type Backend interface {
	// Collection returns the collection of a resource, which may not be ready yet.
	// The error is 404 for an unknown resource and 403 for a reader that is not
	// authorized. Collection does not change or retain the request's frame.
	Collection(r *Request) (*Collection, *api.Status)
	// Release is called once for each collection that Collection has returned, when the
	// subscription ends or is rejected.
	Release(resource api.Resource)
	// Wake is called when Next may have a message to return. The call happens while
	// a collection changes, so Wake must not call Next.
	Wake()
}

// Session is the server side of the connection of one reader.
type Session struct {
	now     int64
	turn    int // round-robin position in subs
	subs    []*subscription
	control []byte // pending responses, sent before data
	// requirements is the total cost of the selectors of subs.
	requirements int
	cfg          Config
	backend      Backend
	greeted      bool
	client       string // the software version of the reader; empty after Resume
	// dictionaries are the IDs of the dictionaries that were sent on the connection.
	dictionaries []uint32
	// inflated is the number of bytes by which the blocks of the current message grow
	// when they are decompressed.
	inflated int
	more     bool // the last message reached its limit
}

// New returns a session for a new connection.
func New(cfg Config, backend Backend) *Session {
	return &Session{cfg: cfg.WithDefaults(), backend: backend}
}

// Receive processes one message. It returns a *api.Status if the reader violates
// the protocol or is not admitted. The caller then sends the remaining output of
// Next and closes the connection. An invalid message has no other effect.
func (s *Session) Receive(message []byte, now int64) error {
	return s.Apply(s.Parse(message), now)
}

// Apply is like Receive, for a parsed message.
func (s *Session) Apply(m *Message, now int64) error {
	s.now = max(s.now, now)
	err := m.err
	for _, frame := range m.Frames {
		if status := s.apply(frame); status != nil {
			err = status
			break
		}
	}
	if err != nil {
		err = wire.WithReleases(err, s.cfg.Server, s.client)
		s.fail(api.AsStatus(err))
	}
	return err
}

func (s *Session) apply(frame any) *api.Status {
	switch f := frame.(type) {
	case *wire.Hello:
		return s.hello(f)
	case *Request:
		return s.subscribe(f)
	case *wire.Unsubscribe:
		return s.unsubscribe(f)
	case *wire.Credit:
		return s.credit(f)
	case *wire.RequestProgress:
		return s.requestProgress(f)
	case *wire.RequestBody:
		if sub := s.find(f.Subscription); sub != nil {
			sub.requestBody(f.Key)
		}
	case savedFrame:
		return s.resume(f)
	}
	return nil
}

// fail closes all subscriptions and queues the status for the reader.
func (s *Session) fail(status *api.Status) {
	s.Close()
	s.control = (&wire.SubscriptionStatus{Status: status}).Append(s.control)
}

func (s *Session) hello(f *wire.Hello) *api.Status {
	if s.greeted {
		return api.Protocol("received a second Hello")
	}
	if f.Version != wire.Version {
		return wire.OtherVersion(wire.SubprotocolPrefix + strconv.FormatUint(uint64(f.Version), 10))
	}
	if s.cfg.Authenticate != nil {
		if status := s.cfg.Authenticate(f.Token); status != nil {
			return status
		}
	}
	s.greeted = true
	s.client = wire.Release(f.Client)
	s.control = (&wire.Welcome{
		Version: wire.Version, Server: s.cfg.Server, ProgressMillis: uint64(s.cfg.ProgressMillis),
	}).Append(s.control)
	return nil
}

func (s *Session) subscribe(r *Request) *api.Status {
	id := r.Frame.Subscription
	switch {
	case !s.greeted:
		return api.Protocol("received Subscribe before Hello")
	case id == 0:
		return api.Protocol("subscription 0 is reserved for the connection; use another number")
	case s.find(id) != nil:
		return api.Protocol("a subscription with this number is already open")
	}
	sub, status := s.open(r)
	if status != nil {
		return s.refuse(id, status)
	}
	s.subs = append(s.subs, sub)
	s.requirements += r.Selection.Cost()
	return nil
}

// refuse rejects a subscription and queues the status for the reader. If too many
// such responses are pending, it returns an error that ends the connection.
func (s *Session) refuse(id uint32, status *api.Status) *api.Status {
	s.cfg.Refused(status)
	s.control = (&wire.SubscriptionStatus{Subscription: id, Status: status}).Append(s.control)
	if len(s.control) > s.cfg.MaxControlBytes {
		return api.LimitReached(api.CodeTooManyRequests, LimitControlBytes, "too many subscriptions were rejected, and the reader did not read the responses")
	}
	return nil
}

func (s *Session) open(r *Request) (*subscription, *api.Status) {
	switch {
	case r.Refused != nil:
		return nil, r.Refused
	case len(s.subs) >= s.cfg.MaxSubscriptions:
		return nil, api.LimitReached(api.CodeTooManyRequests, LimitSubscriptions, "too many subscriptions on one connection; close some first")
	case s.requirements+r.Selection.Cost() > s.cfg.MaxRequirements:
		return nil, api.LimitReached(api.CodeTooManyRequests, LimitRequirements,
			"the selectors of all subscriptions on one connection have too many requirements; close some first")
	}
	collection, status := s.backend.Collection(r)
	if status != nil {
		return nil, status
	}
	sub, status := newSubscription(s, r, collection, s.backend.Wake)
	if status != nil {
		s.backend.Release(r.Resource)
	}
	return sub, status
}

func (s *Session) unsubscribe(f *wire.Unsubscribe) *api.Status {
	if sub := s.find(f.Subscription); sub != nil {
		s.drop(sub)
	}
	return nil
}

func (s *Session) credit(f *wire.Credit) *api.Status {
	if sub := s.find(f.Subscription); sub != nil {
		sub.grant(f.Bytes)
	}
	return nil
}

func (s *Session) requestProgress(f *wire.RequestProgress) *api.Status {
	if sub := s.find(f.Subscription); sub != nil {
		sub.reported, sub.moves = 0, 0
		sub.cacher.Waits().RequestProgress()
	}
	return nil
}

func (s *Session) find(id uint32) *subscription {
	for _, sub := range s.subs {
		if sub.id == id {
			return sub
		}
	}
	return nil
}

// End ends the subscriptions for which match returns true, and queues the status for
// the reader.
func (s *Session) End(status *api.Status, match func(id uint32, c *cacher.Cacher) bool) {
	for _, sub := range slices.Clone(s.subs) {
		if match(sub.id, sub.cacher) {
			s.control = (&wire.SubscriptionStatus{Subscription: sub.id, Status: status}).Append(s.control)
			s.drop(sub)
		}
	}
}

// Has reports whether the subscription with the number id is open.
func (s *Session) Has(id uint32) bool { return s.find(id) != nil }

// Subscribed reports whether any subscription is open.
func (s *Session) Subscribed() bool { return len(s.subs) > 0 }

func (s *Session) drop(sub *subscription) {
	sub.close()
	s.requirements -= sub.cost
	s.backend.Release(sub.resource)
	s.subs = lite.Remove(s.subs, sub)
}

// Next returns the next message of about limit bytes after decompression, or nil if there
// is nothing to send now. Call Next after Receive, after each call of Backend.Wake, at
// the time that Session.Wake returns, and while More returns true. The caller owns the
// returned bytes.
func (s *Session) Next(limit int, now int64) []byte {
	if message := s.AppendNext(nil, limit, now); len(message) > 0 {
		return message
	}
	return nil
}

// AppendNext is like Next but builds the message in the caller's buffer, whose length
// must be zero.
func (s *Session) AppendNext(message []byte, limit int, now int64) []byte {
	s.now = max(s.now, now)
	message = append(message, s.control...)
	s.control = s.control[:0]
	s.inflated = 0
	for left := len(s.subs); left > 0 && !s.full(message, limit); left-- {
		s.turn++
		sub := s.subs[s.turn%len(s.subs)]
		var status *api.Status
		message, status = sub.fill(message, limit)
		if status != nil {
			message = (&wire.SubscriptionStatus{Subscription: sub.id, Status: status}).Append(message)
			s.drop(sub)
			left = len(s.subs) + 1 // the order has changed, so start over
		}
	}
	s.more = s.full(message, limit)
	if len(message) > 0 {
		message = wire.AppendChecksum(message)
	}
	return message
}

// full reports whether a message has reached its limit. Blocks count with their size after
// decompression, which limits the time and memory that a reader needs for one message.
func (s *Session) full(message []byte, limit int) bool { return len(message)+s.inflated >= limit }

// More reports whether the last message reached its limit, so that Next may return
// another one immediately. If More returns false, there is nothing else to send now,
// unless Config.Meter is exhausted.
func (s *Session) More() bool { return s.more }

// Wake returns the earliest time, in milliseconds, at which Next has something to send
// even without a change. It returns zero if there is no such time.
func (s *Session) Wake() int64 {
	var wake int64
	for _, sub := range s.subs {
		if at := sub.wake(); wake == 0 || at != 0 && at < wake {
			wake = at
		}
	}
	return wake
}

// Starved reports whether a subscription has data to send but no credit.
func (s *Session) Starved() bool {
	return slices.ContainsFunc(s.subs, (*subscription).starved)
}

// Close releases all subscriptions. Next still returns pending output.
func (s *Session) Close() {
	for len(s.subs) > 0 {
		s.drop(s.subs[0])
	}
}
