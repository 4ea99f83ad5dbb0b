package connector_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/source"
)

// measured is a Timings that records its measurements.
type measured struct {
	mu         sync.Mutex
	deliveries []time.Duration
	syncs      map[api.Resource][]time.Duration
}

func (m *measured) InitialSync(resource api.Resource, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.syncs == nil {
		m.syncs = map[api.Resource][]time.Duration{}
	}
	m.syncs[resource] = append(m.syncs[resource], took)
}

func (m *measured) Delivery(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deliveries = append(m.deliveries, took)
}

func (m *measured) delivered() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]time.Duration(nil), m.deliveries...)
}

func (m *measured) synced() map[api.Resource][]time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.syncs)
}

// The measurement of a delivery ends when the reader has accepted the message, not when the
// connector begins to write. The connector does not report a snapshot as a delivery.
func TestDeliveryIsMeasuredFromTheSourceToTheSocket(t *testing.T) {
	var m measured
	run(t, connector.Config{Timings: &m}, func(t *testing.T, w *world) {
		w.fill(3)
		r, s := w.synced()
		synctest.Wait()
		assert.Empty(t, m.delivered())

		w.put("pod-00001")
		synctest.Wait()
		time.Sleep(3 * time.Second)
		w.put("pod-00002")
		synctest.Wait()
		time.Sleep(2 * time.Second)
		last := w.put("pod-00001")
		synctest.Wait()
		w.until(r, func() bool { return s.ResourceVersion == last })
		synctest.Wait()
		assert.Equal(t, []time.Duration{5 * time.Second, 2 * time.Second}, m.delivered(), "the time of the oldest change")
	})
}

func TestDeliveryWithoutWaitingIsMeasured(t *testing.T) {
	var m measured
	runWith(t, connector.Config{Timings: &m}, true, func(t *testing.T, w *world) {
		w.fill(3)
		r, s := w.synced()
		synctest.Wait() // a change that is sent with the end of the snapshot is not measured
		last := w.put("pod-00001")
		w.until(r, func() bool { return s.ResourceVersion == last })
		synctest.Wait()
		assert.Equal(t, []time.Duration{0}, m.delivered())
	})
}

// late is a source whose lists take five seconds.
type late struct{ source.Source }

func (l late) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	if from == 0 {
		time.Sleep(5 * time.Second)
	}
	return l.Source.Stream(ctx, resource, from, sink)
}

func TestInitialSyncIsMeasuredOnce(t *testing.T) {
	var m measured
	run(t, connector.Config{Timings: &m}, func(t *testing.T, w *world) {
		w.fill(3)
		c := connector.New(connector.Config{Source: late{w.source}, Timings: &m})
		defer func() { require.NoError(t, c.Close(t.Context())) }()
		release, err := c.Hold(t.Context(), pods)
		require.NoError(t, err)
		defer release()
		w.source.Fail(api.Unavailable("gone for a while"))
		time.Sleep(time.Minute)
		assert.Equal(t, map[api.Resource][]time.Duration{pods: {5 * time.Second}}, m.synced())
	})
}

// absent is a source whose streams always fail.
type absent struct{ source.Source }

func (absent) Stream(context.Context, api.Resource, api.ResourceVersion, source.Sink) error {
	return api.Unavailable("not found here")
}

// When the watch of a resource ends, the connector drops the counters of the resource if
// it was never listed. Readers choose the names of such resources, so the counters could
// use unbounded memory.
func TestCountersOutliveTheWatchOfAListedResourceOnly(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(2)
		r, _ := w.synced()
		require.NoError(t, r.Conn.Close(nil))
		time.Sleep(time.Hour)
		stats := w.connector.Stats()
		assert.Empty(t, stats.Resources)
		assert.EqualValues(t, 2, stats.Counted[pods].Events)

		c := connector.New(connector.Config{Source: absent{w.source}})
		defer func() { require.NoError(t, c.Close(t.Context())) }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Hold(ctx, pods)
		require.Error(t, err)
		time.Sleep(time.Hour)
		assert.Empty(t, c.Stats().Counted)
	})
}
