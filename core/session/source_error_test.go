package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// While the first list is in progress, the reader receives a SourceError every period, so
// that the reader does not abandon the connector.
func TestSourceError_FirstList(t *testing.T) {
	w := newWorld(t, 1)
	w.cacher = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods()}))
	s := session.New(session.Config{ProgressMillis: 5000}, w)
	hello := (&wire.Hello{Version: wire.Version}).Append(nil)
	require.NoError(t, s.Receive((&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(hello), w.now))
	require.NotNil(t, s.Next(1<<20, w.now), "Welcome")
	waiting := wire.AppendChecksum((&wire.SourceError{Subscription: 1}).Append(nil))
	for range 3 {
		require.Nil(t, s.Next(1<<20, w.now))
		require.EqualValues(t, w.now+5000, s.Wake())
		w.now = s.Wake()
		require.Equal(t, waiting, s.Next(1<<20, w.now))
	}
	down := api.Unavailable("down")
	w.cacher.Upstream().Fail(down)
	require.Equal(t, wire.AppendChecksum((&wire.SourceError{Subscription: 1, Status: down}).Append(nil)), s.Next(1<<20, w.now), "sent immediately")
}

// While a connector is not current, its reader receives the reason immediately and again
// every period.
func TestSourceError(t *testing.T) {
	w := newWorld(t, 1)
	s := session.New(session.Config{ProgressMillis: 5000}, w)
	var hello []byte
	hello = (&wire.Hello{Version: wire.Version}).Append(hello)
	hello = (&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(hello)
	require.NoError(t, s.Receive(hello, w.now))
	excuses := func() (n int) {
		for message := s.Next(1<<20, w.now); len(message) > 0; {
			kind, payload, rest, err := wire.Next(message)
			require.NoError(t, err)
			if kind == wire.TypeSourceError {
				var f wire.SourceError
				require.NoError(t, f.Parse(payload))
				require.Equal(t, wire.SourceError{Subscription: 1, Status: api.Unavailable("down")}, f)
				n++
			}
			message = rest
		}
		return n
	}
	require.Zero(t, excuses())
	w.cacher.Upstream().Fail(api.Unavailable("down"))
	for range 4 {
		require.Equal(t, 1, excuses())
		require.Zero(t, excuses(), "once per period")
		require.EqualValues(t, w.now+5000, s.Wake())
		w.now = s.Wake()
	}
	w.cacher.Progress(w.rv, w.now)
	require.Zero(t, excuses())
	require.Nil(t, w.cacher.Upstream().Failure())
	w.cacher.Upstream().Fail(api.Unavailable("down"))
	require.Equal(t, 1, excuses(), "immediately, when it occurs again")
}

// The error of a source may name any object of the resource, for example if kube-apiserver
// cannot decode one. Only readers of all objects receive the text (rule B25).
func TestSourceErrorTextIsWithheldFromNarrowSubscriptions(t *testing.T) {
	down := api.Unavailable("the list failed: unable to decode team-b/secret-project")
	down.Cause, down.RetryAfterSeconds = "team-b/secret-project", 7
	withheld := &api.Status{
		Code: 503, Reason: down.Reason, RetryAfterSeconds: 7,
		Message: "the source of v1/pods fails; the reason is withheld from readers with a restricted scope, see the log of the connector",
	}
	for _, c := range []struct {
		subscribe wire.Subscribe
		want      *api.Status
	}{
		{wire.Subscribe{}, down},
		{wire.Subscribe{LabelSelector: "app=web"}, down},
		{wire.Subscribe{Namespace: "team-a"}, withheld},
		{wire.Subscribe{FieldSelector: "metadata.name=x"}, withheld},
	} {
		w := newWorld(t, 1)
		s := session.New(session.Config{ProgressMillis: 5000}, w)
		f := c.subscribe
		f.Subscription, f.Resource, f.Credit = 1, "v1/pods", 1<<20
		require.NoError(t, s.Receive(f.Append((&wire.Hello{Version: wire.Version}).Append(nil)), w.now))
		for s.Next(1<<20, w.now) != nil {
		}
		want := wire.AppendChecksum((&wire.SourceError{Subscription: 1, Status: c.want}).Append(nil))
		w.cacher.Upstream().Fail(down)
		require.Equal(t, want, s.Next(1<<20, w.now), "%+v", c.subscribe)
		require.Nil(t, s.Next(1<<20, w.now), "once per period")
		w.now = s.Wake()
		require.Equal(t, want, s.Next(1<<20, w.now), "%+v", c.subscribe)
	}
}
