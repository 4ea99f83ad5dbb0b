package session

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// A persisted session contains the frames with which its reader would resume on a new
// connection. It also records which dictionaries the reader already has, so a restored
// session does not repeat them. To a reader that has caught up, the restored session
// sends no data until a change matches.

// Save returns the state that Resume needs to continue with the reader in another
// session, including responses that were not sent yet. It returns nil if the session has
// not received Hello.
func (s *Session) Save() []byte {
	if !s.greeted {
		return nil
	}
	saved := (&wire.Hello{Version: wire.Version}).Append(nil)
	for _, id := range s.dictionaries {
		saved = (&wire.Dictionary{ID: id}).Append(saved)
	}
	saved = append(saved, s.control...)
	for _, sub := range s.subs {
		saved = sub.save(saved)
	}
	return saved
}

func (s *subscription) save(saved []byte) []byte {
	if s.computed != nil {
		saved = (&wire.ChooseColumns{Subscription: s.id, Columns: s.computed.columns}).Append(saved)
	}
	f := wire.SavedSubscription{
		Subscribe: wire.Subscribe{
			Subscription: s.id, Resource: s.resource.String(),
			Namespace: s.namespace, LabelSelector: s.labels, FieldSelector: s.fields,
			ResourceVersion: s.from, NotOlderThan: s.notOlderThan,
			ClusterID: s.clusterID, DeltaEpoch: s.deltaEpoch, DeltaEpochSince: s.deltaEpochSince,
			MetadataOnly: s.metadataOnly, RowsFirst: s.rowsFirst && s.phase != live, SnapshotFrom: s.next, Credit: uint64(max(s.credit, 0)),
		},
		Live: s.restored || s.phase != opening, ReportedMillis: s.reported, Debt: uint64(max(-s.credit, 0)),
	}
	if s.phase != opening {
		f.ResourceVersion = s.sent()
		f.NotOlderThan = f.ResourceVersion
		if s.owesBodies() {
			f.RowsFirst, f.BodiesFrom = true, s.bodies.next
		}
	}
	return f.Append(saved)
}

// sent returns the version up to which the session has sent everything.
func (s *subscription) sent() api.ResourceVersion {
	switch {
	case s.generation != s.cacher.Window().Generation():
		return max(s.rv, s.follower.Rested())
	case s.caughtUp():
		return max(s.rv, s.cacher.ResourceVersion())
	}
	return s.rv
}

// Resume restores a session from the output of Save. The receiver must be a new session.
// After an error, the caller closes the connection, as for Receive.
func (s *Session) Resume(saved []byte, now int64) error {
	return s.Apply(parse(saved, math.MaxInt, s.parseSaved), now)
}

// savedFrame is a frame in the output of Save.
type savedFrame struct {
	wire.Frame
	request *Request // parsed from a wire.SavedSubscription; nil for other frames
}

func (s *Session) parseSaved(t wire.Type, payload []byte) (any, error) {
	f, err := wire.Stored.Parse(t, payload)
	if err != nil || f == nil {
		return nil, err
	}
	switch f := f.(type) {
	case *wire.SavedSubscription:
		return savedFrame{f, s.request(&f.Subscribe)}, nil
	case *wire.ChooseColumns:
		return f, nil
	}
	return savedFrame{Frame: f}, nil
}

func (s *Session) resume(saved savedFrame) *api.Status {
	switch f := saved.Frame.(type) {
	case *wire.Hello:
		s.greeted = true
	case *wire.Dictionary:
		s.dictionaries = append(s.dictionaries, f.ID)
	case *wire.Welcome:
		s.control = f.Append(s.control)
	case *wire.SubscriptionStatus:
		if f.Status == nil {
			return api.BadRequest("the saved session has a subscription that ended without a reason")
		}
		s.control = f.Append(s.control)
	case *wire.SavedSubscription:
		return s.resumeSubscription(f, saved.request)
	}
	return nil
}

func (s *Session) resumeSubscription(f *wire.SavedSubscription, r *Request) *api.Status {
	status := s.subscribe(r)
	sub := s.find(f.Subscription)
	if sub == nil {
		return status
	}
	sub.credit -= int64(min(f.Debt, math.MaxInt64/2))
	if f.Live {
		sub.restored = true
		sub.reported = min(f.ReportedMillis, s.now)
	}
	return nil
}

// noSchemaSent is an invalid dictionary number. A subscription whose dictionary is
// noSchemaSent sends a schema before the next object.
const noSchemaSent = math.MaxUint32
