package connector_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

// outage is a source that can be unavailable or refuse streams. It counts probes and
// streams.
type outage struct {
	*memory.Source
	away     atomic.Bool
	refusal  atomic.Pointer[api.Status] // error of Stream while the source is available
	probes   atomic.Int64
	attempts atomic.Int64
	slow     time.Duration // delay of a response to a probe
}

var errAway = errors.New("etcd 10.0.0.1:2379: connection refused")

// Ready implements source.Prober.
func (o *outage) Ready(ctx context.Context) error {
	o.probes.Add(1)
	select {
	case <-time.After(o.slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	if o.away.Load() {
		return errAway
	}
	return nil
}

// Stream implements source.Source.
func (o *outage) Stream(ctx context.Context, r api.Resource, from api.ResourceVersion, s source.Sink) error {
	o.attempts.Add(1)
	if o.away.Load() {
		return errAway
	}
	if status := o.refusal.Load(); status != nil {
		return status
	}
	return o.Source.Stream(ctx, r, from, s)
}

// goAway begins an outage.
func (o *outage) goAway() {
	o.away.Store(true)
	o.Fail(errAway)
}

func runOutage(t *testing.T, o *outage, f func(t *testing.T, w *world)) {
	o.Source = memory.New()
	run(t, connector.Config{Source: o}, func(t *testing.T, w *world) {
		w.source = o.Source
		w.fill(5)
		f(t, w)
	})
}

// The pauses between attempts grow to a minute. When the source responds to a probe again,
// the current pause ends early.
func TestCollectionIsCurrentSoonAfterAnOutage(t *testing.T) {
	for _, length := range []time.Duration{5 * time.Second, 75 * time.Second, 20 * time.Minute} {
		t.Run(length.String(), func(t *testing.T) {
			o := &outage{}
			runOutage(t, o, func(t *testing.T, w *world) {
				r, s := w.synced()
				o.goAway()
				last := w.put("during")
				back := time.Now().Add(length)
				time.AfterFunc(length, func() { o.away.Store(false) })
				w.until(r, func() bool { return s.ResourceVersion == last })
				assert.LessOrEqual(t, time.Since(back), 3*time.Second)
				assert.Zero(t, w.connector.Stats().Resources[0].Failures)
			})
		})
	}
}

func TestProbesAreOnePerSecondForAllCollections(t *testing.T) {
	o := &outage{}
	runOutage(t, o, func(t *testing.T, w *world) {
		for _, name := range []string{"pods", "configmaps", "secrets", "services"} {
			release, err := w.connector.Hold(t.Context(), api.Resource{Version: "v1", Name: name})
			require.NoError(t, err)
			defer release()
		}
		time.Sleep(time.Minute)
		assert.Zero(t, o.probes.Load(), "a streaming source is not probed")
		o.goAway()
		time.Sleep(10 * time.Minute)
		assert.Greater(t, o.probes.Load(), int64(300))
		assert.LessOrEqual(t, o.probes.Load(), int64(601))
		assert.Less(t, o.attempts.Load(), int64(150), "probes do not replace the pauses between attempts")
	})
}

// If the source responds to probes but fails every stream, the pauses keep growing.
func TestFailingSourceIsRetriedWithPauses(t *testing.T) {
	o := &outage{}
	runOutage(t, o, func(t *testing.T, w *world) {
		w.synced()
		before := o.attempts.Load()
		o.refusal.Store(api.Unavailable("internal error"))
		o.Fail(errAway)
		time.Sleep(10 * time.Minute)
		assert.Less(t, o.attempts.Load()-before, int64(40))
	})
}

func TestNoAttemptBeforeRetryAfter(t *testing.T) {
	o := &outage{}
	runOutage(t, o, func(t *testing.T, w *world) {
		r, s := w.synced()
		o.away.Store(true)
		busy := &api.Status{Code: 429, Reason: api.ReasonTooManyRequests, Message: "too busy", RetryAfterSeconds: 100}
		begun := time.Now()
		o.Fail(busy)
		last := w.put("during")
		time.Sleep(10 * time.Second)
		probes := o.probes.Load()
		o.away.Store(false)
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.GreaterOrEqual(t, time.Since(begun), 100*time.Second)
		assert.Zero(t, probes, "no earlier result is needed")
	})
}

func TestReadyWithoutACollectionProbesTheSource(t *testing.T) {
	o := &outage{}
	runOutage(t, o, func(t *testing.T, w *world) {
		require.NoError(t, w.connector.Ready(t.Context()))
		o.away.Store(true)
		require.NoError(t, w.connector.Ready(t.Context()), "a result is cached for a second")
		time.Sleep(1001 * time.Millisecond)
		require.ErrorIs(t, w.connector.Ready(t.Context()), errAway)
	})
}

// A connector with a stale collection is ready, so that an outage does not remove all
// replicas from a load balancer.
func TestReadyWhileACollectionIsCached(t *testing.T) {
	o := &outage{}
	runOutage(t, o, func(t *testing.T, w *world) {
		release, err := w.connector.Hold(t.Context(), pods)
		require.NoError(t, err)
		defer release()
		stats := func() connector.ResourceStats { return w.connector.Stats().Resources[0] }
		_, reason := stats().Stale()
		assert.Empty(t, reason)
		o.goAway()
		time.Sleep(time.Hour)
		assert.NoError(t, w.connector.Ready(t.Context()))
		since, reason := stats().Stale()
		assert.GreaterOrEqual(t, since, time.Hour)
		assert.Equal(t, errAway.Error(), reason)
	})
}

// A collection is stale if its source has reported no progress for more than 15 seconds.
func TestCollectionOfASilentSourceIsStale(t *testing.T) {
	since, reason := connector.ResourceStats{Ready: true, Behind: time.Minute}.Stale()
	assert.Equal(t, time.Minute, since)
	assert.Contains(t, reason, "no progress")
	_, reason = connector.ResourceStats{Ready: true, Behind: 10 * time.Second}.Stale()
	assert.Empty(t, reason)
}

func TestConcurrentCallersShareAProbe(t *testing.T) {
	o := &outage{slow: 2 * time.Second}
	runOutage(t, o, func(t *testing.T, w *world) {
		var callers sync.WaitGroup
		for range 1000 {
			callers.Go(func() { assert.NoError(t, w.connector.Ready(t.Context())) })
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.Sleep(time.Millisecond)
		assert.ErrorIs(t, w.connector.Ready(impatient), context.DeadlineExceeded)
		callers.Wait()
		assert.EqualValues(t, 1, o.probes.Load())
	})
}

// If the caller that started a probe stops waiting, the probe continues for the other callers.
func TestProbeContinuesAfterItsFirstCaller(t *testing.T) {
	o := &outage{slow: 2 * time.Second}
	runOutage(t, o, func(t *testing.T, w *world) {
		first, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() { _ = w.connector.Ready(first) })
		time.Sleep(time.Millisecond)
		assert.NoError(t, w.connector.Ready(t.Context()))
		callers.Wait()
		assert.EqualValues(t, 1, o.probes.Load())
	})
}

func TestProbeIsBounded(t *testing.T) {
	o := &outage{slow: time.Hour}
	runOutage(t, o, func(t *testing.T, w *world) {
		begun := time.Now()
		assert.ErrorIs(t, w.connector.Ready(t.Context()), context.DeadlineExceeded)
		assert.Equal(t, 3*time.Second, time.Since(begun))
	})
}
