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

// A first list that takes long is no reason to give the connector up.
func TestSourceError_FirstList(t *testing.T) {
	w := newWorld(t, 1)
	w.cacher = cacher.New(cacher.Config{Schema: objects.Pods()})
	s := session.New(session.Config{ProgressMillis: 5000}, w)
	hello := (&wire.Hello{Version: wire.Version}).Append(nil)
	require.NoError(t, s.Receive((&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(hello), w.now))
	require.NotNil(t, s.Next(1<<20, w.now), "Welcome")
	waiting := (&wire.SourceError{Subscription: 1}).Append(nil)
	for range 3 {
		require.Nil(t, s.Next(1<<20, w.now))
		require.EqualValues(t, w.now+5000, s.Wake())
		w.now = s.Wake()
		require.Equal(t, waiting, s.Next(1<<20, w.now))
	}
	down := api.Unavailable("down")
	w.cacher.Fail(down)
	require.Equal(t, (&wire.SourceError{Subscription: 1, Status: down}).Append(nil), s.Next(1<<20, w.now), "news at once")
}

// A reader hears at once, and every period, why its connector has no news, and
// no more of it once there is news.
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
	w.cacher.Fail(api.Unavailable("down"))
	for range 4 {
		require.Equal(t, 1, excuses())
		require.Zero(t, excuses(), "not twice in a period")
		require.EqualValues(t, w.now+5000, s.Wake())
		w.now = s.Wake()
	}
	w.cacher.Progress(w.rv, w.now)
	require.Zero(t, excuses())
	require.Nil(t, w.cacher.Failure())
	w.cacher.Fail(api.Unavailable("down"))
	require.Equal(t, 1, excuses(), "at once, when it happens again")
}
