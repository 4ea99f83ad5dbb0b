package connector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
)

// unknown returns subscriptions to n unknown resources, numbered from from.
func unknown(from, n int) []connectortest.Frame {
	frames := make([]connectortest.Frame, n)
	for i := range frames {
		frames[i] = &wire.Subscribe{Subscription: uint32(from + i), Resource: fmt.Sprintf("example.com/v1/r%d", from+i)}
	}
	return frames
}

// terms returns n terms made from a pattern, joined by commas.
func terms(n int, pattern string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(pattern, i)
	}
	return strings.Join(all, ",")
}

// assertEndedBy asserts that the connection has ended with the status of a limit,
// and that the limit was counted.
func (w *world) assertEndedBy(l *limit.Limit, status *api.Status, result func() error) {
	w.t.Helper()
	require.NotNil(w.t, status)
	assert.Equal(w.t, l.Name, status.Cause)
	assert.Equal(w.t, l.Code, status.Code)
	assert.Contains(w.t, status.Message, l.Name)
	assert.ErrorIs(w.t, result(), status)
	assert.EqualValues(w.t, 1, w.connector.Limits().Refusals(l))
}

func (w *world) untilEnd(r *connectortest.Reader) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour) // virtual time
	defer cancel()
	require.ErrorIs(w.t, r.UntilEnd(ctx), io.EOF)
}

// A reader that sends requests without reading responses is disconnected at the
// limit, and receives the reason when it reads.
func TestUnreadResponsesAreBounded(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), ""))
		taken := 0
		for ; ; taken++ {
			require.Less(t, taken, 20, "20,000 responses are queued")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := r.Send(ctx, unknown(1+1000*taken, 1000)...)
			cancel()
			if errors.Is(err, context.DeadlineExceeded) {
				break // the connector no longer reads from it
			}
			require.NoError(t, err)
		}
		w.untilEnd(r)
		w.assertEndedBy(limit.MaxControlBytes, r.Status, result)
		assert.Less(t, r.Bytes, 2*int(limit.MaxControlBytes.Default))
	})
}

// A reader that reads its responses receives them at the rate at which it may
// send requests.
func TestReadResponsesAreShortAndRateLimited(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		r := w.reader()
		reading := make(chan error, 1)
		go func() { reading <- r.UntilEnd(t.Context()) }()
		begun, up := time.Now(), 0
		for i := range 20 {
			var message []byte
			for _, f := range unknown(1+1000*i, 1000) {
				message = f.Append(message)
			}
			up += len(message)
			require.NoError(t, r.Conn.Write(t.Context(), message))
		}
		assert.Greater(t, time.Since(begun), 17*time.Second, "a thousand subscriptions a second, after a burst of as many")
		synctest.Wait()
		require.NoError(t, r.Conn.Close(nil))
		require.ErrorIs(t, <-reading, io.EOF)
		assert.Nil(t, r.Status)
		assert.Less(t, r.Bytes, 8*up, "a response is not much longer than its request")
	})
}

// A requested body costs the connector about as much as a message. Frames that request
// bodies are much smaller.
func TestRequestedBodiesAreRateLimited(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(250)
		r := w.reader()
		s := w.subscribe(r, wire.Subscribe{RowsFirst: true})
		w.until(r, func() bool { return s.BodiesSynced })
		var all []connectortest.Frame
		for key := range s.Objects {
			all = append(all, &wire.RequestBody{Subscription: s.ID, Key: key})
		}
		reading := make(chan error, 1)
		go func() { reading <- r.UntilEnd(t.Context()) }()
		begun := time.Now()
		for range 20 {
			require.NoError(t, r.Send(t.Context(), all...))
		}
		assert.Greater(t, time.Since(begun), 3*time.Second, "a thousand bodies a second, after a burst of as many")
		require.NoError(t, r.Conn.Close(nil))
		<-reading
	})
}

func TestMessageWithTooManyFramesEndsTheConnection(t *testing.T) {
	run(t, connector.Config{Limits: limit.NewSet().With(limit.MaxMessageFrames, 10)}, func(t *testing.T, w *world) {
		w.fill(1)
		other, s := w.synced()
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), ""))
		require.NoError(t, r.Send(t.Context(), unknown(1, 10)...))
		require.NoError(t, r.Send(t.Context(), unknown(100, 11)...))
		w.untilEnd(r)
		w.assertEndedBy(limit.MaxMessageFrames, r.Status, result)
		last := w.put("another")
		w.until(other, func() bool { return s.ResourceVersion == last })
	})
}

// If a selector exceeds a limit, only its subscription is refused.
func TestSelectorsAreLimited(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxSubscriptions, 5).With(limit.MaxConnectionRequirements, 300)
	run(t, connector.Config{Limits: limits}, func(t *testing.T, w *world) {
		w.fill(1)
		r := w.reader()
		number := uint32(0)
		try := func(f wire.Subscribe) *connectortest.Subscription {
			number++
			f.Subscription = number
			s := w.subscribe(r, f)
			w.until(r, func() bool { return s.Status != nil || s.Synced })
			return s
		}
		refused := map[*limit.Limit]uint64{}
		for _, c := range []struct {
			limit *limit.Limit
			wire.Subscribe
		}{
			{limit.MaxSelectorBytes, wire.Subscribe{LabelSelector: terms(1000, "key-%04d")}},
			{limit.MaxSelectorBytes, wire.Subscribe{FieldSelector: "metadata.name!=" + strings.Repeat("x", 1<<19)}},
			{limit.MaxSelectorRequirements, wire.Subscribe{LabelSelector: terms(257, "k%d")}},
			{limit.MaxSelectorRequirements, wire.Subscribe{FieldSelector: terms(257, "metadata.name!=%d")}},
			{limit.MaxSelectorValues, wire.Subscribe{LabelSelector: "app in (" + terms(1025, "v%d") + ")"}},
			{nil, wire.Subscribe{FieldSelector: terms(200, "metadata.name!=%d")}},
			{limit.MaxConnectionRequirements, wire.Subscribe{FieldSelector: terms(101, "metadata.name!=%d")}},
			{limit.MaxConnectionRequirements, wire.Subscribe{LabelSelector: "app in (" + terms(101, "v%d") + ")"}},
			{nil, wire.Subscribe{FieldSelector: terms(100, "metadata.name!=%d")}},
			{nil, wire.Subscribe{}}, {nil, wire.Subscribe{}}, {nil, wire.Subscribe{}},
			{limit.MaxSubscriptions, wire.Subscribe{}},
		} {
			s := try(c.Subscribe)
			if c.limit == nil {
				require.Nil(t, s.Status)
				continue
			}
			require.NotNil(t, s.Status)
			refused[c.limit]++
			assert.Equal(t, c.limit.Name, s.Status.Cause)
			assert.Equal(t, c.limit.Code, s.Status.Code)
			assert.Less(t, len(s.Status.Message), 300)
		}
		assert.Nil(t, r.Status)
		require.NoError(t, r.Send(t.Context(), &wire.Unsubscribe{Subscription: 6}), "which returns its requirements")
		require.Nil(t, try(wire.Subscribe{FieldSelector: terms(200, "metadata.name!=%d")}).Status)
		for _, l := range limit.All() {
			assert.Equal(t, refused[l], limits.Refusals(l), l.Name)
		}
	})
}

// A session without a host, as at the edge, has the default limits of package
// limit.
func TestSessionDefaultsEqualTheLimits(t *testing.T) {
	limits := limit.NewSet()
	c := session.Config{}.WithDefaults()
	assert.Equal(t, limits.Int(limit.MaxSubscriptions), c.MaxSubscriptions)
	assert.Equal(t, limits.Int(limit.MaxMessageFrames), c.MaxFrames)
	assert.Equal(t, limits.Int(limit.MaxControlBytes), c.MaxControlBytes)
	assert.Equal(t, limits.Int(limit.MaxConnectionRequirements), c.MaxRequirements)
	assert.Equal(t, limits.Selectors(), c.Selectors)
	for core, l := range map[string]*limit.Limit{
		session.LimitSubscriptions: limit.MaxSubscriptions, session.LimitFrames: limit.MaxMessageFrames,
		session.LimitControlBytes: limit.MaxControlBytes, session.LimitRequirements: limit.MaxConnectionRequirements,
	} {
		assert.Equal(t, l.Name, core)
	}
}
