package session

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/wire"
)

// Backend finds the collections that a session serves from.
type Backend interface {
	// Collection returns the cacher of a resource, which may not be ready yet, or
	// why it cannot be served: 404 if there is no such resource, 403 if the reader
	// may not read it. Collection does not change or retain the request's frame.
	Collection(r *Request) (*cacher.Cacher, *api.Status)
	// Release says that a subscription that Collection was called for ended.
	Release(resource api.Resource)
	// Wake says that Next may have something to say now. It is called while a
	// collection is being changed, so Next comes later.
	Wake()
}

// Session serves one reader.
type Session struct {
	now     int64
	turn    int // whose turn it is to fill a message
	subs    []*subscription
	control []byte // frames that answer the reader, to be sent first
	// requirements is the cost of the selectors of subs.
	requirements int
	cfg          Config
	backend      Backend
	greeted      bool
	// dictionaries are those the connection has been sent.
	dictionaries []uint32
}

// New starts a session.
func New(cfg Config, backend Backend) *Session {
	return &Session{cfg: cfg.WithDefaults(), backend: backend}
}

// Receive takes one message. An error is a *api.Status: the reader broke the
// protocol or may not come in; send what Next still has, and close. Of a message
// that does not parse nothing is applied.
func (s *Session) Receive(message []byte, now int64) error {
	return s.Apply(s.Parse(message), now)
}

// Apply takes a parsed message, like Receive.
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
	case keptFrame:
		return f.resume(s)
	}
	return nil
}

// fail tells the reader why the connection is about to close.
func (s *Session) fail(status *api.Status) {
	s.Close()
	s.control = (&wire.SubscriptionStatus{Status: status}).Append(s.control)
}

func (s *Session) hello(f *wire.Hello) *api.Status {
	if s.greeted {
		return api.Protocol("Hello came twice")
	}
	if f.Version != wire.Version {
		return api.Protocol("the reader speaks another version of the protocol than " + wire.Subprotocol)
	}
	if s.cfg.Authenticate != nil {
		if status := s.cfg.Authenticate(f.Token); status != nil {
			return status
		}
	}
	s.greeted = true
	s.control = (&wire.Welcome{
		Version: wire.Version, Server: s.cfg.Server, ProgressMillis: uint64(s.cfg.ProgressMillis),
	}).Append(s.control)
	return nil
}

func (s *Session) subscribe(r *Request) *api.Status {
	id := r.Frame.Subscription
	switch {
	case !s.greeted:
		return api.Protocol("Subscribe came before Hello")
	case id == 0:
		return api.Protocol("subscription 0 stands for the connection; use another number")
	case s.find(id) != nil:
		return api.Protocol("a subscription with the same number is open")
	}
	sub, status := s.open(r)
	if status != nil {
		return s.refuse(id, status)
	}
	s.subs = append(s.subs, sub)
	s.requirements += r.Selection.Cost()
	return nil
}

// refuse answers a subscription that is not opened. When too many such answers
// wait to be sent it ends the connection.
func (s *Session) refuse(id uint32, status *api.Status) *api.Status {
	s.cfg.Refused(status)
	s.control = (&wire.SubscriptionStatus{Subscription: id, Status: status}).Append(s.control)
	if len(s.control) > s.cfg.MaxControlBytes {
		return api.LimitReached(429, LimitControlBytes, "too many subscriptions were refused, and their answers were not read")
	}
	return nil
}

func (s *Session) open(r *Request) (*subscription, *api.Status) {
	switch {
	case r.Refused != nil:
		return nil, r.Refused
	case len(s.subs) >= s.cfg.MaxSubscriptions:
		return nil, api.LimitReached(429, LimitSubscriptions, "too many subscriptions on one connection; close some first")
	case s.requirements+r.Selection.Cost() > s.cfg.MaxRequirements:
		return nil, api.LimitReached(429, LimitRequirements,
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
		sub.cacher.Prompt()
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

// End ends the subscriptions that match, and tells the reader why. Other
// subscriptions go on.
func (s *Session) End(status *api.Status, match func(id uint32, c *cacher.Cacher) bool) {
	for _, sub := range slices.Clone(s.subs) {
		if match(sub.id, sub.cacher) {
			s.control = (&wire.SubscriptionStatus{Subscription: sub.id, Status: status}).Append(s.control)
			s.drop(sub)
		}
	}
}

// Has reports whether a subscription is open.
func (s *Session) Has(id uint32) bool { return s.find(id) != nil }

// Subscribed reports whether any subscription is open.
func (s *Session) Subscribed() bool { return len(s.subs) > 0 }

func (s *Session) drop(sub *subscription) {
	sub.close()
	s.requirements -= sub.cost
	s.backend.Release(sub.resource)
	s.subs = api.Remove(s.subs, sub)
}

// Next returns the next message to send, of about limit bytes, or nil when
// there is nothing to send now: call again after Receive, when the backend was
// told to Wake the reader, and at Wake. After a message that is shorter than the
// limit there is nothing more. The bytes are the caller's.
func (s *Session) Next(limit int, now int64) []byte {
	if message := s.AppendNext(nil, limit, now); len(message) > 0 {
		return message
	}
	return nil
}

// AppendNext is Next into a buffer of length zero that the caller has.
func (s *Session) AppendNext(message []byte, limit int, now int64) []byte {
	s.now = max(s.now, now)
	message = append(message, s.control...)
	s.control = s.control[:0]
	for left := len(s.subs); left > 0 && len(message) < limit; left-- {
		s.turn++
		sub := s.subs[s.turn%len(s.subs)]
		var status *api.Status
		message, status = sub.fill(message, limit)
		if status != nil {
			message = (&wire.SubscriptionStatus{Subscription: sub.id, Status: status}).Append(message)
			s.drop(sub)
			left = len(s.subs) + 1 // the turns are not what they were
		}
	}
	return message
}

// Wake is when Next has something to say even though nothing changed, in
// milliseconds, or zero.
func (s *Session) Wake() int64 {
	var wake int64
	for _, sub := range s.subs {
		if at := sub.wake(); wake == 0 || at != 0 && at < wake {
			wake = at
		}
	}
	return wake
}

// Starved reports whether data waits for a subscription that has no credit.
func (s *Session) Starved() bool {
	return slices.ContainsFunc(s.subs, (*subscription).starved)
}

// Close releases every subscription. Next still returns what was said before.
func (s *Session) Close() {
	for len(s.subs) > 0 {
		s.drop(s.subs[0])
	}
}
