package session_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// small contains limits that a short sequence of messages reaches.
var small = session.Config{
	ProgressMillis: 1000, MaxSubscriptions: 4, MaxFrames: 16, MaxControlBytes: 600, MaxRequirements: 8, LabelSets: 2,
	Selectors: selector.Limits{Bytes: 64, Requirements: 4, Values: 6},
}

// tape is the input of a fuzz test, interpreted as a sequence of choices. After the last byte,
// every choice is zero.
type tape []byte

func (t *tape) byte() (b byte) {
	if len(*t) > 0 {
		b, *t = (*t)[0], (*t)[1:]
	}
	return b
}

func (t *tape) bytes(n int) []byte {
	n = min(n, len(*t))
	b := (*t)[:n:n]
	*t = (*t)[n:]
	return b
}

func (t *tape) text() string { return string(t.bytes(int(t.byte()))) }

func (t *tape) pick(texts ...string) string { return texts[int(t.byte())%len(texts)] }

// mostCredit is the maximum credit that a subscription stores. Twice that amount
// still fits into an int64.
const mostCredit = math.MaxInt64 / 2

// hostile is a reader that may send anything. It checks that the session enforces all
// limits and follows the protocol.
type hostile struct {
	*world
	tape    tape
	session *session.Session
	open    int // subscriptions that the backend has not released
	credit  map[uint32]int64
	labels  map[uint32]map[uint32]bool // defined label sets, by subscription
}

// Collection implements session.Backend.
func (h *hostile) Collection(r *session.Request) (*session.Collection, *api.Status) {
	if r.Resource.Name != "pods" {
		return nil, api.NotFound("there is no resource " + r.Resource.String())
	}
	h.open++
	return h.cacher.Collection, nil
}

// Release implements session.Backend.
func (h *hostile) Release(api.Resource) { h.open-- }

func (h *hostile) begin() {
	h.session = session.New(small, h)
	h.credit, h.labels = map[uint32]int64{}, map[uint32]map[uint32]bool{}
}

// end checks the session after an error has ended it, and connects again.
func (h *hostile) end(err error) {
	require.NotEmpty(h.t, api.AsStatus(err).Message)
	require.False(h.t, h.session.Subscribed())
	h.next(1)
	h.connect()
}

func (h *hostile) connect() {
	h.begin()
	if h.tape.byte()%8 > 0 {
		h.send(&wire.Hello{Version: wire.Version})
	}
}

func (h *hostile) send(frames ...frame) { h.receive(message(frames...)) }

// receive passes a message to the session. If the message ends the connection,
// receive opens another one.
func (h *hostile) receive(m []byte) {
	granted := grants(m)
	err := h.session.Receive(m, h.now)
	for i := range m {
		m[i] = 0xff // the session must not retain any of it
	}
	if err != nil {
		h.end(err)
		return
	}
	require.LessOrEqual(h.t, h.session.ControlBytes(), small.MaxControlBytes)
	for _, g := range granted {
		if g.fresh {
			h.credit[g.subscription], h.labels[g.subscription] = 0, map[uint32]bool{}
		}
		h.credit[g.subscription] = min(h.credit[g.subscription]+int64(min(g.bytes, mostCredit)), mostCredit)
	}
}

// grant is credit for one subscription in a message.
type grant struct {
	subscription uint32
	bytes        uint64
	fresh        bool // granted by the frame that opens the subscription
}

func grants(m []byte) (all []grant) {
	for len(m) > 0 {
		t, payload, rest, err := wire.Next(m)
		if err != nil {
			return all
		}
		m = rest
		var s wire.Subscribe
		var c wire.Credit
		switch {
		case t == wire.TypeSubscribe && s.Parse(payload) == nil:
			all = append(all, grant{s.Subscription, s.Credit, true})
		case t == wire.TypeCredit && c.Parse(payload) == nil:
			all = append(all, grant{c.Subscription, c.Bytes, false})
		}
	}
	return all
}

// next takes a message from the session and checks each frame.
func (h *hostile) next(limit int) {
	m := h.session.Next(limit, h.now)
	require.True(h.t, wire.Intact(m))
	for len(m) > 0 {
		t, payload, rest, err := wire.Next(m)
		require.NoError(h.t, err)
		h.check(t, payload)
		m = rest
	}
}

func (h *hostile) check(t wire.Type, payload []byte) {
	parse := func(f interface{ Parse([]byte) error }) { require.NoError(h.t, f.Parse(payload), "type %#x", t) }
	data := func(subscription uint32, changes []wire.Change) {
		require.Positive(h.t, h.credit[subscription], "data of subscription %d without credit", subscription)
		h.credit[subscription] -= int64(wire.Size(len(payload)))
		for _, c := range changes {
			require.True(h.t, c.Type == api.Deleted || h.labels[subscription][c.LabelSet], "label set %d is not defined", c.LabelSet)
		}
	}
	switch t {
	case wire.TypeWelcome:
		parse(&wire.Welcome{})
	case wire.TypeSchema:
		parse(&wire.Schema{})
	case wire.TypeDictionary:
		parse(&wire.Dictionary{})
	case wire.TypeLabelSet:
		var f wire.LabelSet
		parse(&f)
		h.labels[f.Subscription][f.ID] = true
	case wire.TypeSnapshotBegin:
		parse(&wire.SnapshotBegin{})
	case wire.TypeSnapshotPart:
		var f wire.SnapshotPart
		parse(&f)
		data(f.Subscription, f.Objects)
	case wire.TypeSnapshotEnd:
		parse(&wire.SnapshotEnd{})
	case wire.TypeEvents:
		var f wire.Events
		parse(&f)
		data(f.Subscription, f.Changes)
	case wire.TypeProgress:
		parse(&wire.Progress{})
	case wire.TypeObjectError:
		parse(&wire.ObjectError{})
	case wire.TypeSourceError:
		parse(&wire.SourceError{})
	case wire.TypeSubscriptionStatus:
		var f wire.SubscriptionStatus
		parse(&f)
		require.NotNil(h.t, f.Status)
	case wire.TypeChecksum:
		parse(&wire.Checksum{})
	default:
		require.Fail(h.t, "a frame that no session sends", "type %#x", t)
	}
}

func (h *hostile) subscribe() *wire.Subscribe {
	t := &h.tape
	f := &wire.Subscribe{
		Subscription: uint32(t.byte() % 8), Resource: t.pick("v1/pods", "v1/pods", "v1/pots", "pods", ""), Namespace: t.pick("", "a", "a-b", "none"),
		ResourceVersion: api.ResourceVersion(t.byte()), NotOlderThan: api.ResourceVersion(t.byte()), ClusterID: t.pick("", "", "elsewhere"),
		MetadataOnly: t.byte()%2 == 0, Credit: uint64(t.byte()) << (t.byte() % 64),
	}
	switch t.byte() % 4 {
	case 0:
		f.LabelSelector, f.FieldSelector = t.text(), t.text()
	case 1:
		f.LabelSelector = t.pick("app=web", "app!=web", "app in (web,api,x),app", "a,b,c,d,e", "app in (a,b,c,d,e,f,g)", strings.Repeat("x", 65))
		f.FieldSelector = t.pick("", "spec.nodeName=n1", "metadata.name=1,metadata.name=2", "spec.nodeName!=n1,spec.nodeName!=n2", "no.field=1")
	}
	return f
}

// act performs one random action of a reader, a source or the clock.
func (h *hostile) act() {
	t := &h.tape
	switch t.byte() % 12 {
	case 0:
		h.receive([]byte(t.text()))
	case 1, 2:
		h.send(h.subscribe())
	case 3:
		var frames []frame
		for range t.byte() % 20 {
			frames = append(frames, h.subscribe())
		}
		h.send(frames...)
	case 4:
		h.send(&wire.Unsubscribe{Subscription: uint32(t.byte() % 8)}, &wire.Credit{Subscription: uint32(t.byte() % 8), Bytes: uint64(t.byte()) << (t.byte() % 64)})
	case 5:
		h.send(&wire.RequestProgress{Subscription: uint32(t.byte() % 8)})
	case 6:
		h.change()
	case 7:
		h.relist(int(t.byte() % 3))
	case 8:
		h.now += int64(t.byte()) * 50
		h.cacher.Tick(h.now)
	case 9:
		h.resume()
	default:
		h.next(1 + int(t.byte())*4)
	}
	requirements := 0
	states := h.session.States()
	for _, s := range states {
		requirements += s.Requirements
	}
	require.LessOrEqual(h.t, requirements, small.MaxRequirements)
	require.LessOrEqual(h.t, len(states), small.MaxSubscriptions)
	require.Equal(h.t, h.open, len(states), "each collection is released once")
}

// play performs up to 200 actions, until the tape ends, and then closes the session.
func (h *hostile) play() {
	for range 200 {
		if len(h.tape) == 0 {
			break
		}
		h.act()
	}
	h.session.Close()
	require.Zero(h.t, h.open)
}

// resume saves the session and restores it in another one, which sends label sets again.
func (h *hostile) resume() {
	h.next(1 << 20)
	saved := h.session.Save()
	h.session.Close()
	h.session = session.New(small, h)
	require.NoError(h.t, h.session.Resume(saved, h.now))
	for id := range h.labels {
		h.labels[id] = map[uint32]bool{}
	}
}

// For any sequence of messages, the session does not panic, exceeds no limit, sends no
// data without credit, and releases every used collection.
func FuzzSession(f *testing.F) {
	f.Add([]byte("\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\xff\x10\x02\x0a\xff\x06\x0a\xff\x06\x06\x0a\x20"))
	f.Add([]byte("\x01\x01\x01\x00\x01\x00\x00\x00\x01\xff\x05\x01\x02\x01\x0a\x01\x06\x0a\x01\x09\x06\x0a\xff\x08\xff\x0a\xff"))
	f.Add([]byte("\x01\x03\x13" + strings.Repeat("\x01\x02\x00\x00\x00\x00\x00\x00\x00\x02", 20) + "\x0a\xff"))
	f.Add(append([]byte("\x00\x00\x08"), message(&wire.Hello{Version: wire.Version})...))
	f.Fuzz(func(t *testing.T, input []byte) {
		h := &hostile{world: newWorld(t, 1), tape: input}
		h.connect()
		h.play()
	})
}

// Resume either rejects its input or restores a session that enforces its limits, starts
// with the encoded credit, and releases every used collection.
func FuzzResume(f *testing.F) {
	const actions = "\x06\x06\x06\x0a\xff\x09\x06\x06\x0a\xff\x04\x01\x01\xff\x02\x08\xff\x07\x01\x0a\xff"
	for _, saved := range [][]frame{
		{},
		{&wire.Hello{Version: wire.Version}},
		{&wire.SavedSubscription{Subscribe: wire.Subscribe{Subscription: 1, Resource: "v1/pods"}}},
		{
			&wire.Hello{Version: wire.Version}, &wire.Dictionary{ID: 3},
			&wire.SubscriptionStatus{Subscription: 2, Status: api.Expired("the snapshot was cut off")},
			&wire.SavedSubscription{Subscribe: wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 10, LabelSelector: "app in (web,api)"}},
			&wire.SavedSubscription{Subscribe: wire.Subscribe{Subscription: 3, Resource: "v1/pots"}, Live: true, ReportedMillis: 1 << 50},
			&wire.SavedSubscription{
				Subscribe: wire.Subscribe{
					Subscription: 4, Resource: "v1/pods", ResourceVersion: 1, NotOlderThan: 1, Credit: math.MaxUint64, DeltaEpoch: 1, DeltaEpochSince: 1,
				},
				Live: true, Debt: math.MaxUint64,
			},
		},
	} {
		f.Add(message(saved...), []byte(actions))
	}
	f.Fuzz(func(t *testing.T, saved, input []byte) {
		h := &hostile{world: newWorld(t, 1), tape: input}
		h.begin()
		if err := h.session.Resume(saved, h.now); err != nil {
			h.end(err)
		} else {
			h.assume(saved)
		}
		h.play()
	})
}

// assume reads the expected credit from the state that Resume accepted. If two
// subscriptions have the same number, it assumes the larger credit, because the session
// may have refused either subscription.
func (h *hostile) assume(saved []byte) {
	for len(saved) > 0 {
		t, payload, rest, err := wire.Next(saved)
		require.NoError(h.t, err)
		var f wire.SavedSubscription
		if t == wire.TypeSavedSubscription && f.Parse(payload) == nil {
			credit := int64(min(f.Credit, mostCredit)) - int64(min(f.Debt, mostCredit))
			if other, known := h.credit[f.Subscription]; known {
				credit = max(credit, other)
			}
			h.credit[f.Subscription] = credit
			h.labels[f.Subscription] = map[uint32]bool{}
		}
		saved = rest
	}
}
