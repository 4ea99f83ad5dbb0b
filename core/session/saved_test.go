package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// types returns the types of the frames of a message, without the Checksum at its end.
func types(t *testing.T, message []byte) (all []wire.Type) {
	t.Helper()
	require.True(t, wire.Intact(message))
	for len(message) > 0 {
		typ, _, rest, err := wire.Next(message)
		require.NoError(t, err)
		all, message = append(all, typ), rest
	}
	if len(all) > 0 {
		require.Equal(t, wire.TypeChecksum, all[len(all)-1])
		all = all[:len(all)-1]
	}
	return all
}

// moved closes a session, and returns another session that continues with the same
// reader.
func (c *collection) moved(t *testing.T, s *session.Session) *session.Session {
	t.Helper()
	again := session.New(session.Config{}, one{c.Collection})
	require.NoError(t, again.Resume(s.Save(), 1000))
	s.Close()
	return again
}

// A restored reader without matching changes is current, regardless of how far the
// window has moved since its last frame (rule C25).
func TestRestoredReaderWithoutMatchingChangesIsCurrent(t *testing.T) {
	c := newCollection(20)
	s := c.session(t, wire.Subscribe{Subscription: 1, FieldSelector: "metadata.name=none"})
	require.Contains(t, types(t, s.Next(1<<20, 1000)), wire.TypeSnapshotEnd)
	for i := range 100 { // more than the window holds
		c.change(i % 20)
	}
	s = c.moved(t, s)
	require.NotContains(t, types(t, s.Next(1<<20, 1000)), wire.TypeSubscriptionStatus)
}

// A session that is persisted while its reader accepts no data sends the pending
// responses after it is restored (rules B11, B16).
func TestRestoredSessionSendsTheResponsesThatWait(t *testing.T) {
	c := newCollection(20)
	s := session.New(session.Config{}, one{c.Collection})
	require.NoError(t, s.Receive((&wire.Hello{Version: wire.Version}).Append(nil), 1000))
	s = c.moved(t, c.moved(t, s))
	require.Equal(t, []wire.Type{wire.TypeWelcome}, types(t, s.Next(1<<20, 1000)))

	require.NoError(t, s.Receive((&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(nil), 1000))
	require.Contains(t, types(t, s.Next(1<<20, 1000)), wire.TypeSnapshotEnd)
	s.End(api.Expired("a test"), func(uint32, *cacher.Cacher) bool { return true })
	s = c.moved(t, c.moved(t, s))
	message := s.Next(1<<20, 1000)
	require.Equal(t, []wire.Type{wire.TypeSubscriptionStatus}, types(t, message))
	_, payload, _, _ := wire.Next(message)
	var ended wire.SubscriptionStatus
	require.NoError(t, ended.Parse(payload))
	require.Equal(t, []any{uint32(1), api.CodeGone}, []any{ended.Subscription, ended.Status.Code})
	require.Nil(t, s.Next(1<<20, 1000))
}

// A restored session does not send the dictionaries of its reader again. Before the next
// object, it sends the schema, which names the current dictionary, and the label sets.
func TestRestoredReaderKeepsItsDictionaries(t *testing.T) {
	c := newCollection(20)
	s := c.session(t, wire.Subscribe{Subscription: 1})
	require.Subset(t, types(t, s.Next(1<<20, 1000)), []wire.Type{wire.TypeDictionary, wire.TypeSnapshotEnd})
	s = c.moved(t, s)
	require.NotContains(t, types(t, s.Next(1<<20, 1000)), wire.TypeSchema)
	c.change(0) // the version without a dictionary
	require.Equal(t, []wire.Type{wire.TypeSchema, wire.TypeLabelSet, wire.TypeEvents}, types(t, s.Next(1<<20, 1000)))
	c.change(0)
	require.NotContains(t, types(t, s.Next(1<<20, 1000)), wire.TypeSchema)
}
