package session

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// A session that is kept says what its reader would say to resume on a new
// connection, and besides what the reader has been sent that it need not be sent
// again. Restored, it goes on as if nothing had happened: a reader that nothing
// concerns hears nothing of it.

// Keep returns what Resume needs to go on with the reader in another session.
func (s *Session) Keep() []byte {
	if !s.greeted {
		return nil
	}
	kept := (&wire.Hello{Version: wire.Version}).Append(nil)
	for _, id := range s.dictionaries {
		kept = (&wire.Dictionary{ID: id}).Append(kept)
	}
	for _, sub := range s.subs {
		kept = sub.keep(kept)
	}
	return kept
}

func (s *subscription) keep(kept []byte) []byte {
	if s.phase == listing || s.phase == replaying {
		cut := api.Expired("the snapshot was cut off where it was served from; list anew")
		return (&wire.SubscriptionStatus{Subscription: s.id, Status: cut}).Append(kept)
	}
	f := wire.KeptSubscription{
		Subscribe: wire.Subscribe{
			Subscription: s.id, Resource: s.resource.String(),
			Namespace: s.namespace, LabelSelector: s.labels, FieldSelector: s.fields,
			ResourceVersion: s.from, NotOlderThan: s.notOlderThan,
			Source: s.source, Bases: s.bases, BasesSince: s.basesSince,
			MetadataOnly: s.metadataOnly, Credit: uint64(max(s.credit, 0)),
		},
		Live: s.phase == live, ReportedMillis: s.reported, Debt: uint64(max(-s.credit, 0)),
	}
	if f.Live {
		f.ResourceVersion = s.sent()
		f.NotOlderThan = f.ResourceVersion
	}
	return f.Append(kept)
}

// sent is the version up to which the reader has everything.
func (s *subscription) sent() api.ResourceVersion {
	switch {
	case s.generation != s.cacher.Generation():
		return max(s.rv, s.follower.Rested())
	case s.caughtUp():
		return max(s.rv, s.cacher.ResourceVersion())
	}
	return s.rv
}

// Resume goes on with a reader that another session was kept of. The session is
// new; an error ends it like one of Receive.
func (s *Session) Resume(kept []byte, now int64) error {
	s.now = max(s.now, now)
	return s.receive(kept, decodeKept)
}

func decodeKept(t wire.Type, payload []byte, s *Session) error {
	switch t {
	case wire.TypeHello:
		return apply(s, payload, &wire.Hello{}, func(s *Session, _ *wire.Hello) *api.Status {
			s.greeted = true
			return nil
		})
	case wire.TypeDictionary:
		return apply(s, payload, &wire.Dictionary{}, func(s *Session, f *wire.Dictionary) *api.Status {
			s.dictionaries = append(s.dictionaries, f.ID)
			return nil
		})
	case wire.TypeKeptSubscription:
		return apply(s, payload, &wire.KeptSubscription{}, (*Session).resubscribe)
	case wire.TypeSubscriptionStatus:
		return apply(s, payload, &wire.SubscriptionStatus{}, func(s *Session, f *wire.SubscriptionStatus) *api.Status {
			s.control = f.Append(s.control)
			return nil
		})
	}
	return wire.Unknown(t)
}

func (s *Session) resubscribe(f *wire.KeptSubscription) *api.Status {
	status := s.subscribe(&f.Subscribe)
	sub := s.find(f.Subscription)
	if sub == nil {
		return status
	}
	sub.credit -= int64(min(f.Debt, math.MaxInt64/2))
	if f.Live {
		sub.introduced = true
		sub.reported = min(f.ReportedMillis, s.now)
	}
	return status
}

// undescribed is the number of no dictionary: the first object that is sent is
// described first.
const undescribed = math.MaxUint32
