package kube_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source/kube"
)

// metricsReaders is a connector that serves metrics to readers.
type metricsReaders struct {
	t         *testing.T
	server    *metricsServer
	policy    access.Policy
	connector *connector.Connector
}

// serveMetrics runs f with a connector in a synctest bubble, where time is virtual. The
// cluster authorizes the readers.
func serveMetrics(t *testing.T, m *metricsServer, f func(r *metricsReaders)) {
	synctest.Test(t, func(t *testing.T) { f(newMetricsReaders(t, m)) })
}

func newMetricsReaders(t *testing.T, m *metricsServer) *metricsReaders {
	src := m.source(t, 0)
	r := &metricsReaders{t: t, server: m, policy: src.Policy(nil)}
	r.connector = connector.New(connector.Config{
		Source: src, Access: r.policy, Logger: slog.New(slog.DiscardHandler),
		Limits: limit.NewSet().With(limit.Linger, int64(time.Minute)),
	})
	t.Cleanup(func() {
		m.refuse(503) // ends a stream that wrongly still polls, which would otherwise never end
		assert.NoError(t, r.connector.Close(context.Background()))
		src.Close()
		time.Sleep(kube.DefaultRequestTimeout) // reviews that are still in flight end within this time
	})
	return r
}

// open subscribes to the metrics of pods with a new connection. It returns the state of
// the subscription after a snapshot or a refusal. The reader continues to receive until
// the function closed is called.
func (r *metricsReaders) open(token string) (has connectortest.Subscription, closed func()) {
	r.t.Helper()
	return r.resume(token, &connectortest.Subscription{Objects: map[api.Key]connectortest.Object{}})
}

// resume is like open, and begins with the state of an earlier subscription.
func (r *metricsReaders) resume(token string, sub *connectortest.Subscription) (has connectortest.Subscription, closed func()) {
	r.t.Helper()
	snapshots := sub.Snapshots
	here, there := connectortest.Pipe()
	go r.connector.Serve(r.t.Context(), here)
	reader := connectortest.NewReader(there)
	require.NoError(r.t, reader.Hello(r.t.Context(), token))
	require.Nil(r.t, reader.Status)
	subscribe := wire.Subscribe{Subscription: 1, Resource: podMetrics.String(), Credit: connectortest.Endless}
	require.NoError(r.t, reader.Resume(r.t.Context(), sub, subscribe))
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute) // virtual time
	defer cancel()
	require.NoError(r.t, reader.Until(ctx, func() bool { return sub.Snapshots > snapshots || sub.Status != nil }))
	has = *sub
	go reader.UntilEnd(r.t.Context())
	return has, func() { assert.NoError(r.t, there.Close(nil)) }
}

// during returns how often the metrics of pods are polled within a duration.
func (r *metricsReaders) during(d time.Duration) int {
	before := len(r.server.polled())
	time.Sleep(d)
	synctest.Wait()
	return len(r.server.polled()) - before
}

func TestMetricsAreNotPolledWithoutReaders(t *testing.T) {
	m := &metricsServer{}
	m.use(usage("a", "1m"))
	serveMetrics(t, m, func(r *metricsReaders) {
		assert.Zero(t, r.during(time.Hour))

		has, first := r.open("t-ann")
		require.Nil(t, has.Status)
		assert.Equal(t, []api.Key{"shop/a"}, has.Keys())
		assert.Equal(t, catalog.Metrics()[1].WithTimes().Columns, has.Schema.Columns)
		_, second := r.open("t-ann")
		polls := r.during(10 * time.Minute)
		assert.True(t, 36 <= polls && polls <= 45, "%d polls in 10 minutes, with two readers", polls)

		first()
		assert.NotZero(t, r.during(10*time.Minute), "one reader remains")
		second()
		assert.NotZero(t, r.during(time.Minute), "the linger")
		assert.Zero(t, r.during(time.Hour))

		has, third := r.open("t-ann")
		require.Nil(t, has.Status)
		assert.NotZero(t, r.during(time.Minute))
		third()
	})
}

// The right to read v1/pods does not include the metrics of pods, although both resources
// are named pods.
func TestMetricsRequireTheRightToThem(t *testing.T) {
	m := &metricsServer{}
	m.use(usage("a", "1m"))
	serveMetrics(t, m, func(r *metricsReaders) {
		refuse := func() {
			has, closed := r.open("t-ben")
			require.NotNil(t, has.Status)
			assert.ErrorIs(t, has.Status, api.Forbidden(""))
			assert.Zero(t, has.ClusterID)
			assert.Zero(t, has.ResourceVersion)
			assert.Nil(t, has.Schema)
			assert.Empty(t, has.Objects)
			assert.Zero(t, has.Snapshots+has.Parts+has.Events+has.Progress)
			closed()
		}
		refuse()
		assert.Zero(t, r.during(time.Hour), "refused readers cause no polls")

		has, closed := r.open("t-ann")
		require.Nil(t, has.Status)
		assert.Len(t, has.Objects, 1)
		refuse()
		closed()

		ben := &access.User{Name: "ben"}
		for resource, want := range map[api.Resource]bool{pods: true, podMetrics: false, nodeMetrics: false} {
			_, refused := r.policy.Authorize(r.t.Context(), ben, access.Request{Resource: resource, Verb: "list"})
			assert.Equal(t, want, refused == nil, "%v", resource)
		}
	})
}

// A reader that moves to another replica lists metrics again, because the versions of
// the replicas are not comparable.
func TestReadersListMetricsAgainAtAnotherReplica(t *testing.T) {
	m := &metricsServer{}
	m.use(usage("a", "1m"))
	serveMetrics(t, m, func(r *metricsReaders) {
		_, closed := r.open("t-ann")
		defer closed()
		time.Sleep(time.Hour)
		another := newMetricsReaders(r.t, m)
		has, leave := another.open("t-ann")
		leave()
		require.Equal(t, 1, has.Snapshots)
		time.Sleep(time.Minute)

		has, leave = r.resume("t-ann", &has)
		assert.Nil(t, has.Status)
		assert.Equal(t, 2, has.Snapshots)
		leave()
	})
}
