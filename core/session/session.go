package session

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/wire"
)

// Backend finds the collections that a session serves from.
type Backend interface {
	// Collection returns the cacher of a resource, which may not be ready
	// yet, or why it cannot be served: 404 names the resources there are, 403
	// says that this reader may not have what it asks for. The frame is only
	// to be read, and not to be kept.
	Collection(resource api.Resource, f *wire.Subscribe) (*cacher.Cacher, *api.Status)
	// Release says that a subscription that Collection was called for ended.
	Release(resource api.Resource)
	// Wake says that Next may have something to say now. It is called while a
	// collection is being changed, so Next comes later.
	Wake()
}

// Config of a session; zeros take defaults.
type Config struct {
	// Server is name and version for Welcome.
	Server string
	// ProgressMillis is how often a live subscription says how far it is, at
	// the least; default 5000.
	ProgressMillis int64
	// MaxSubscriptions a reader may have open; default 256.
	MaxSubscriptions int
	// LabelSets is how many label sets a subscription remembers to have defined to
	// its reader; default 1024. It bounds memory; a definition that is forgotten is
	// sent again.
	LabelSets int
	// Shard is what there is of each resource for this reader; zero for all.
	Shard api.Shard
	// Authenticate checks the token of a Hello; nil lets everyone in.
	Authenticate func(token string) *api.Status
}

func (c Config) withDefaults() Config {
	if c.ProgressMillis <= 0 {
		c.ProgressMillis = 5000
	}
	if c.MaxSubscriptions <= 0 {
		c.MaxSubscriptions = 256
	}
	if c.LabelSets <= 0 {
		c.LabelSets = 1024
	}
	return c
}

// Session serves one reader.
type Session struct {
	now     int64
	turn    int // whose turn it is to fill a message
	subs    []*subscription
	control []byte // frames that answer the reader, to be sent first
	cfg     Config
	backend Backend
	greeted bool
	// dictionaries are those the connection has been sent.
	dictionaries []uint32
}

// New starts a session.
func New(cfg Config, backend Backend) *Session {
	return &Session{cfg: cfg.withDefaults(), backend: backend}
}

// Receive takes one message. An error is a *api.Status: the reader broke the
// protocol or may not come in; send what Next still has, and close. Of a message
// that does not parse nothing is applied.
func (s *Session) Receive(message []byte, now int64) error {
	s.now = max(s.now, now)
	return s.receive(message, decode)
}

// receive applies all frames of a message, or none when one does not parse.
func (s *Session) receive(message []byte, decode func(wire.Type, []byte, *Session) error) error {
	err := s.each(message, func(t wire.Type, payload []byte) error { return decode(t, payload, nil) })
	if err == nil {
		err = s.each(message, func(t wire.Type, payload []byte) error { return decode(t, payload, s) })
	}
	if err != nil {
		s.fail(api.AsStatus(err))
	}
	return err
}

func (s *Session) each(message []byte, f func(wire.Type, []byte) error) error {
	for len(message) > 0 {
		t, payload, rest, err := wire.Next(message)
		if err != nil {
			return err
		}
		if err := f(t, payload); err != nil {
			return err
		}
		message = rest
	}
	return nil
}

// decode parses a frame and, given a session, applies it.
func decode(t wire.Type, payload []byte, s *Session) error {
	switch t {
	case wire.TypeHello:
		return apply(s, payload, &wire.Hello{}, (*Session).hello)
	case wire.TypeSubscribe:
		return apply(s, payload, &wire.Subscribe{}, (*Session).subscribe)
	case wire.TypeUnsubscribe:
		return apply(s, payload, &wire.Unsubscribe{}, (*Session).unsubscribe)
	case wire.TypeCredit:
		return apply(s, payload, &wire.Credit{}, (*Session).credit)
	case wire.TypeRequestProgress:
		return apply(s, payload, &wire.RequestProgress{}, (*Session).requestProgress)
	}
	if t >= wire.Optional {
		return nil
	}
	return wire.Unknown(t)
}

func apply[F interface{ Parse([]byte) error }](s *Session, payload []byte, frame F, handle func(*Session, F) *api.Status) error {
	if err := frame.Parse(payload); err != nil {
		return err
	}
	if s == nil {
		return nil
	}
	if status := handle(s, frame); status != nil {
		return status
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

func (s *Session) subscribe(f *wire.Subscribe) *api.Status {
	switch {
	case !s.greeted:
		return api.Protocol("Subscribe came before Hello")
	case f.Subscription == 0:
		return api.Protocol("subscription 0 stands for the connection; use another number")
	case s.find(f.Subscription) != nil:
		return api.Protocol("a subscription with the same number is open")
	}
	sub, status := s.open(f)
	if status != nil {
		s.control = (&wire.SubscriptionStatus{Subscription: f.Subscription, Status: status}).Append(s.control)
		return nil
	}
	s.subs = append(s.subs, sub)
	return nil
}

func (s *Session) open(f *wire.Subscribe) (*subscription, *api.Status) {
	if len(s.subs) >= s.cfg.MaxSubscriptions {
		return nil, api.TooManyRequests("too many subscriptions on one connection; close some first", 1)
	}
	resource, err := api.ParseResource(strings.Clone(f.Resource)) // it outlives the frame
	if err != nil {
		return nil, api.AsStatus(err)
	}
	collection, status := s.backend.Collection(resource, f)
	if status != nil {
		return nil, status
	}
	sub, status := newSubscription(s, f, resource, collection, s.backend.Wake)
	if status != nil {
		s.backend.Release(resource)
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
