package metrics_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/audit"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/metrics"
	"github.com/watchglass/watchglass/host/source/memory"
)

var pods = api.Resource{Version: "v1", Name: "pods"}

// everything returns the collectors of a host in which each metric has a sample. It omits
// reviews and the audit log.
func everything(t *testing.T) []prometheus.Collector {
	t.Helper()
	timings, limits := metrics.NewTimings(), limit.NewSet()
	objects := memory.New()
	objects.Put(pods, api.NewKey("a", "one"), []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"one","namespace":"a","uid":"1"}}`))
	c := connector.New(connector.Config{Source: objects, Timings: timings, Limits: limits, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { assert.NoError(t, c.Close(context.WithoutCancel(t.Context()))) })
	release, err := c.Hold(t.Context(), pods)
	require.NoError(t, err)
	t.Cleanup(release)
	timings.Delivery(3 * time.Millisecond)
	timings.Ended("watch", 200, time.Hour)
	handler := kubeapi.New(kubeapi.Config{Backend: c.Backend(), Limits: limits, Ended: timings.Ended})
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil))
	files := reload.NewWatcher(slog.New(slog.DiscardHandler))
	require.NoError(t, files.Add(reload.Group{Name: "--tokens", Files: func() []string { return nil }, Load: func() error { return nil }}))
	limits.Count(limit.MaxReaders)
	return append(metrics.Process("v1.2.3"), timings,
		metrics.Connector(c), metrics.KubeAPI(handler), metrics.Limits(limits), metrics.Reloads(files),
		metrics.Audit(audit.New(slog.New(slog.DiscardHandler), nil)), metrics.Listeners(func() uint64 { return 6 }),
		metrics.Memory(func() int64 { return 7 }), metrics.Admission(func() (int, int) { return 8, 9 }))
}

func scrape(t *testing.T, collectors []prometheus.Collector) string {
	t.Helper()
	handler, err := metrics.Handler(slog.New(slog.DiscardHandler), collectors...)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	return w.Body.String()
}

func TestScrapeHasTheStateOfTheHost(t *testing.T) {
	text := scrape(t, everything(t))
	for _, line := range []string{
		`watchglass_build_info{goversion="go`, `,version="v1.2.3"} 1`,
		`watchglass_readers 0`, `watchglass_upstream_watches 1`,
		`watchglass_objects{resource="v1/pods"} 1`, `watchglass_events_total{resource="v1/pods"} 1`,
		`watchglass_upstream_lists_total{resource="v1/pods"} 1`, `watchglass_stale_seconds{resource="v1/pods"} 0`,
		`watchglass_subscription_errors_total{code="410"} 0`,
		`watchglass_history_events{resource="v1/pods"} 0`, `watchglass_subscriptions{resource="v1/pods"} 0`, `watchglass_divergences_total{resource="v1/pods"} 0`,
		`watchglass_upstream_failures_total{reason="expired",resource="v1/pods"} 0`,
		`watchglass_watch_terminations_total{reason="slow_consumer",resource="v1/pods"} 0`,
		`watchglass_event_delivery_seconds_bucket{le="0.004"} 1`, `watchglass_event_delivery_seconds_count 1`,
		`watchglass_initial_sync_seconds_count{resource="v1/pods"} 1`,
		`watchglass_list_duration_seconds_count{code="200"} 1`,
		`watchglass_kubeapi_requests_total{code="200",verb="list"} 1`, `watchglass_kubeapi_watches 0`,
		`watchglass_limit{limit="max-readers"} 10000`, `watchglass_limit{limit="write-timeout"} 60`,
		`watchglass_limit{limit="max-memory"} +Inf`,
		`watchglass_limit_refusals_total{reason="max-readers"} 1`,
		`watchglass_authentications_total{result="refused"} 0`,
		`watchglass_file_reloads_total{files="tokens",result="loaded"} 0`,
		`watchglass_accept_failures_total 6`, `watchglass_memory_bytes 7`,
		`watchglass_unauthenticated_connections 8`, `watchglass_authenticated_connections 9`,
		`go_goroutines `, `process_open_fds `,
	} {
		assert.Contains(t, text, line)
	}
	assert.NotContains(t, text, "watchglass_audit_", "there is no audit log")
	assert.NotContains(t, text, `watchglass_limit_refusals_total{reason="max-header-bytes"}`, "the HTTP server does not report these refusals")
	for _, l := range limit.All() {
		assert.Contains(t, text, `watchglass_limit{limit="`+l.Name+`"} `)
	}
}

func TestMetricsFollowTheConventions(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, c := range everything(t) {
		require.NoError(t, registry.Register(c))
	}
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// OPERATIONS.md has a row for each metric, and no other rows.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../OPERATIONS.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)^\\| `(watchglass_[a-z_]+)").FindAllStringSubmatch(string(text), -1) {
		documented[found[1]] = false
	}
	for line := range strings.Lines(scrape(t, everything(t))) {
		name, ok := strings.CutPrefix(line, "# TYPE watchglass_")
		if !ok {
			continue
		}
		name = "watchglass_" + strings.Fields(name)[0]
		assert.Contains(t, documented, name)
		documented[name] = true
	}
	delete(documented, "watchglass_audit_events_total") // served only with --audit-log
	delete(documented, "watchglass_audit_failures_total")
	delete(documented, "watchglass_reviews_total") // served only with --auth kube
	delete(documented, "watchglass_cached_verdicts")
	for name, exists := range documented {
		assert.True(t, exists, "%s is documented, and does not exist", name)
	}
}

func TestTheSameMetricTwiceIsAnError(t *testing.T) {
	same := metrics.Memory(func() int64 { return 0 })
	_, err := metrics.Handler(slog.New(slog.DiscardHandler), same, same)
	require.ErrorContains(t, err, "register metrics: duplicate")
}
