package connector_test

import (
	"io"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
)

func TestNewWorkIsRefusedWhileMemoryIsShort(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(3)
		limits := w.connector.Limits()
		old, s := w.synced()
		limits.SetReached(limit.MaxMemory, true)

		r, _, result := w.connect()
		require.ErrorIs(t, r.UntilEnd(t.Context()), io.EOF)
		require.NotNil(t, r.Status)
		assert.Equal(t, 503, r.Status.Code)
		assert.Equal(t, "max-memory", r.Status.Cause)
		assert.Positive(t, r.Status.RetryAfterSeconds)
		assert.Error(t, result())
		second, err := old.Subscribe(t.Context(), wire.Subscribe{Subscription: 9, Resource: "v1/pods", Credit: connectortest.Endless})
		require.NoError(t, err)
		w.until(old, func() bool { return second.Status != nil })
		assert.Equal(t, "max-memory", second.Status.Cause)
		assert.EqualValues(t, 2, limits.Refusals(limit.MaxMemory))

		last := w.put("another")
		w.until(old, func() bool { return s.ResourceVersion == last })
		limits.SetReached(limit.MaxMemory, false)
		w.synced()
	})
}

// connectFrom connects a reader from an address, with the given number of subscriptions to pods.
func (w *world) connectFrom(address, token string, subscriptions int) *connectortest.Reader {
	theirs, ours := connectortest.Pipe()
	ctx := access.WithClient(w.t.Context(), access.Client{Address: netip.MustParseAddr(address)})
	w.serving.Go(func() { _ = w.connector.Serve(ctx, theirs) })
	r := connectortest.NewReader(ours)
	require.NoError(w.t, r.Hello(w.t.Context(), token))
	for i := range subscriptions {
		s, err := r.Subscribe(w.t.Context(), wire.Subscribe{Subscription: uint32(i + 1), Resource: "v1/pods", Credit: connectortest.Endless})
		require.NoError(w.t, err)
		w.until(r, func() bool { return s.Synced })
	}
	return r
}

func TestShedDisconnectsTheNewestOfTheHeaviest(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(3)
		first := w.connectFrom("192.0.2.1", "", 1)
		var flood []*connectortest.Reader
		for range 4 {
			flood = append(flood, w.connectFrom("192.0.2.2", "", 1))
		}
		last := w.connectFrom("192.0.2.3", "", 6) // its weight is 7, and the weight of the flood is 8

		w.connector.Shed(3)
		newest := flood[3]
		require.ErrorIs(t, newest.UntilEnd(t.Context()), io.EOF)
		require.NotNil(t, newest.Status)
		assert.Equal(t, 503, newest.Status.Code)
		assert.Equal(t, "max-memory", newest.Status.Cause)
		assert.Positive(t, newest.Status.RetryAfterSeconds)
		w.connector.Shed(3)
		require.ErrorIs(t, last.UntilEnd(t.Context()), io.EOF)
		w.connector.Shed(3)
		require.ErrorIs(t, flood[2].UntilEnd(t.Context()), io.EOF)
		for range 10 {
			w.connector.Shed(3)
		}
		synctest.Wait()
		assert.Equal(t, 3, w.connector.Count(), "the intended number of readers remains")
		assert.EqualValues(t, 3, w.connector.Limits().Refusals(limit.MaxMemory))
		assert.Nil(t, first.Status)
		assert.Nil(t, flood[0].Status)
	})
}

func TestShedWeighsUsersSeparately(t *testing.T) {
	rules := &book{rights: map[string][]string{"ann": {"v1/pods"}, "ben": {"v1/pods"}}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		w.fill(3)
		ben := w.connectFrom("192.0.2.1", "ben", 1)
		w.connectFrom("192.0.2.2", "ann", 1)
		heavy := w.connectFrom("192.0.2.3", "ann", 1)
		light := w.connectFrom("192.0.2.1", "ben", 0)
		w.connector.Shed(0)
		require.ErrorIs(t, heavy.UntilEnd(t.Context()), io.EOF)
		assert.Nil(t, ben.Status)
		assert.Nil(t, light.Status)
	})
}
