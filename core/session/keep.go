package session

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// A persisted session contains the frames with which its reader would resume on a
// new connection, and records what the reader does not need again. If no change
// matches, a restored session sends the reader nothing.

// Keep returns the state that Resume needs to continue with the reader in another
// session, including responses that the reader has not been sent.
func (s *Session) Keep() []byte {
	if !s.greeted {
		return nil
	}
	kept := (&wire.Hello{Version: wire.Version}).Append(nil)
	for _, id := range s.dictionaries {
		kept = (&wire.Dictionary{ID: id}).Append(kept)
	}
	kept = append(kept, s.control...)
	for _, sub := range s.subs {
		kept = sub.keep(kept)
	}
	return kept
}

func (s *subscription) keep(kept []byte) []byte {
	if s.phase == listing || s.phase == replaying {
		cut := api.Expired("the snapshot was interrupted; list again")
		return (&wire.SubscriptionStatus{Subscription: s.id, Status: cut}).Append(kept)
	}
	f := wire.KeptSubscription{
		Subscribe: wire.Subscribe{
			Subscription: s.id, Resource: s.resource.String(),
			Namespace: s.namespace, LabelSelector: s.labels, FieldSelector: s.fields,
			ResourceVersion: s.from, NotOlderThan: s.notOlderThan,
			Source: s.source, DeltaEpoch: s.deltaEpoch, DeltaEpochSince: s.deltaEpochSince,
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

// sent returns the version up to which the reader has received everything.
func (s *subscription) sent() api.ResourceVersion {
	switch {
	case s.generation != s.cacher.Generation():
		return max(s.rv, s.follower.Rested())
	case s.caughtUp():
		return max(s.rv, s.cacher.ResourceVersion())
	}
	return s.rv
}

// Resume continues with the reader of a persisted session. The session must be
// new. An error ends it, as for Receive.
func (s *Session) Resume(kept []byte, now int64) error {
	return s.Apply(parse(kept, math.MaxInt, s.parseKept), now)
}

// keptFrame is a frame in the output of Keep.
type keptFrame interface{ resume(*Session) *api.Status }

type (
	keptHello      struct{}
	keptDictionary struct{ wire.Dictionary }
	keptWelcome    struct{ wire.Welcome }
	keptStatus     struct{ wire.SubscriptionStatus }
	keptRequest    struct {
		*Request
		frame wire.KeptSubscription
	}
)

func (s *Session) parseKept(t wire.Type, payload []byte) (any, error) {
	switch t {
	case wire.TypeHello:
		return keptHello{}, (&wire.Hello{}).Parse(payload)
	case wire.TypeDictionary:
		return parsed(payload, &keptDictionary{})
	case wire.TypeWelcome:
		return parsed(payload, &keptWelcome{})
	case wire.TypeSubscriptionStatus:
		return parsed(payload, &keptStatus{})
	case wire.TypeKeptSubscription:
		f := &keptRequest{}
		if err := f.frame.Parse(payload); err != nil {
			return nil, err
		}
		f.Request = s.request(&f.frame.Subscribe)
		return f, nil
	}
	return nil, wire.Unknown(t)
}

func (keptHello) resume(s *Session) *api.Status {
	s.greeted = true
	return nil
}

func (f *keptDictionary) resume(s *Session) *api.Status {
	s.dictionaries = append(s.dictionaries, f.ID)
	return nil
}

func (f *keptWelcome) resume(s *Session) *api.Status {
	s.control = f.Append(s.control)
	return nil
}

func (f *keptStatus) resume(s *Session) *api.Status {
	s.control = f.Append(s.control)
	return nil
}

func (f *keptRequest) resume(s *Session) *api.Status {
	status := s.subscribe(f.Request)
	sub := s.find(f.frame.Subscription)
	if sub == nil {
		return status
	}
	sub.credit -= int64(min(f.frame.Debt, math.MaxInt64/2))
	if f.frame.Live {
		sub.restored = true
		sub.reported = min(f.frame.ReportedMillis, s.now)
	}
	return nil
}

// noSchemaSent is an invalid dictionary number. It forces a schema before the next
// object.
const noSchemaSent = math.MaxUint32
