package session_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

type frame interface{ Append([]byte) []byte }

func message(frames ...frame) []byte {
	var m []byte
	for _, f := range frames {
		m = f.Append(m)
	}
	return m
}

// The cost of a message increases with its size, its subscriptions and their
// selectors.
func TestCostOfAMessage(t *testing.T) {
	s := session.New(session.Config{}, nil)
	pods := func(labels string) frame {
		return &wire.Subscribe{Subscription: 1, Resource: "v1/pods", LabelSelector: labels}
	}
	values := "app in (v0"
	for i := range 127 {
		values += ",v" + strconv.Itoa(i+1)
	}
	values += ")"
	for _, c := range []struct {
		name    string
		message []byte
		want    int
	}{
		{"empty", nil, 1},
		{"credits", message(&wire.Credit{Subscription: 1}, &wire.Credit{Subscription: 2}, &wire.Unsubscribe{Subscription: 3}), 1},
		{"9 KiB", message(&wire.Hello{Version: wire.Version, Token: strings.Repeat("t", 9<<10)}), 3},
		{"subscriptions", message(pods(""), pods("a=b"), pods("c")), 4},
		{"128 values", message(pods(values)), 4},
		{"a selector that is refused", message(pods("a in b")), 2},
	} {
		assert.Equal(t, c.want, s.Parse(c.message).Cost(), c.name)
	}
}

// Selectors are parsed once. Opening a subscription uses only the parsed form.
func TestSelectorsAreParsedOnce(t *testing.T) {
	c := newCollection(20)
	s := session.New(session.Config{}, one{c.Collection})
	m := s.Parse(message(&wire.Hello{Version: wire.Version}, &wire.Subscribe{
		Subscription: 1, Resource: "v1/pods", LabelSelector: "app=0", FieldSelector: "metadata.name!=002", Credit: 1 << 20,
	}))
	require.Len(t, m.Frames, 2)
	r := m.Frames[1].(*session.Request)
	require.Nil(t, r.Refused)
	assert.Equal(t, "app=0", r.Selection.Labels.String())
	assert.Equal(t, "metadata.name!=002", r.Selection.Fields.String())
	assert.Equal(t, api.Resource{Version: "v1", Name: "pods"}, r.Resource)
	r.Frame.LabelSelector, r.Frame.FieldSelector = "this in does not parse", "nor does this"
	require.NoError(t, s.Apply(m, 1000))
	assert.Contains(t, types(t, s.Next(1<<20, 1000)), wire.TypeSnapshotEnd)
}

// If a message is invalid or has too many frames, none of it is applied.
func TestInvalidMessageHasNoEffect(t *testing.T) {
	hello := &wire.Hello{Version: wire.Version}
	for name, c := range map[string]struct {
		message []byte
		code    int
		cause   string
	}{
		"a truncated frame": {append(message(hello), byte(wire.TypeCredit), 5, 1), 400, ""},
		"an unknown frame":  {append(message(hello), 0x3f, 0), 400, "UnknownFrame"},
		"too many frames":   {message(hello, &wire.Credit{}, &wire.Credit{}, &wire.Credit{}), 413, session.LimitFrames},
	} {
		t.Run(name, func(t *testing.T) {
			s := session.New(session.Config{MaxFrames: 3}, one{newCollection(1).Collection})
			err := s.Receive(c.message, 1000)
			require.Error(t, err)
			assert.Equal(t, c.code, api.AsStatus(err).Code)
			assert.Equal(t, c.cause, api.AsStatus(err).Cause)
			assert.Equal(t, []wire.Type{wire.TypeSubscriptionStatus}, types(t, s.Next(1<<20, 1000)), "no Welcome is sent")
		})
	}
}

// The length of the names that a subscription stores is limited.
func TestLongNamesAreRejected(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for _, f := range []wire.Subscribe{{Resource: "v1/" + long}, {Resource: "v1/pods", Namespace: long}, {Resource: "v1/pods", ClusterID: long}, {Resource: "v1/pods", SnapshotFrom: api.Key(long)}, {Resource: "v1/pods", BodiesFrom: api.Key(long)}} {
		f.Subscription = 1
		s := session.New(session.Config{}, one{newCollection(1).Collection})
		require.NoError(t, s.Receive(message(&wire.Hello{Version: wire.Version}, &f), 1000))
		answer := s.Next(1<<20, 1000)
		assert.Equal(t, []wire.Type{wire.TypeWelcome, wire.TypeSubscriptionStatus}, types(t, answer))
		assert.Less(t, len(answer), 300)
		assert.False(t, s.Subscribed())
	}
}
