package edge_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/edge"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/metrics"
	"github.com/watchglass/watchglass/host/source/memory"
)

// objects serves /status for every Durable Object of an edge, and counts the requests.
type objects struct {
	answer func(name string, r *http.Request) (*http.Response, error)

	mu      sync.Mutex
	asked   int
	atOnce  int
	highest int // maximum of atOnce
}

func (o *objects) count(more int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.atOnce += more
	o.asked += max(more, 0)
	o.highest = max(o.highest, o.atOnce)
}

type oneOf struct {
	*objects
	name string
}

func (o oneOf) RoundTrip(r *http.Request) (*http.Response, error) {
	o.count(1)
	defer o.count(-1)
	return o.answer(o.name, r)
}

// healthy returns the report of a healthy object.
func healthy(string, *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	fmt.Fprintf(w, `{"feeds":{"connected":[{"active":true}]},"resources":{"v1/pods":{"state":"live","objects":3,"lastProgress":%d,
		"cache":{"usedBytes":11,"history":12,"events":13,"relists":14,"resumes":2,"expired":15,"terminatedWatches":16,"overtakenWatches":17,"stalls":18,"conflations":19,"initialEvents":20}}},
		"readers":2,"maxReaders":4096,"counters":{"readersRateLimited":1},"memory":{"module":5,"unacknowledged":7,"limit":90},
		"metrics":{"connections":21,"refused":22,"malformed":23,"messages":24,"bytes":25,"subscriptionErrors":{"410":0,"403":26},"refusals":{"max-readers":22,"hello-timeout":27,"another cause":1},
			"requests":{"get":{"404":28},"list":{"200":29},"watch":{}},"delivery":{"bounds":[0.00025,16],"counts":[3,4,5],"sum":80.5},"lists":{"200":{"bounds":[0.001],"counts":[29,0],"sum":0}},
			"resources":{"v1/pods":{"bytes":30,"faults":31,"initialSync":{"bounds":[0.01,163.84],"counts":[0,1,0],"sum":2}}}},
		"subscriptions":{"v1/pods":{"readers":2,"subscriptions":32}},"requests":{"watches":33,"waiting":34}}`, time.Now().Add(-4*time.Second).UnixMilli())
	return w.Result(), nil
}

// silent never responds.
func silent(_ string, r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// ask sends a request with an unrestricted token to an edge with 256 objects.
func ask(t *testing.T, path string, o *objects) *httptest.ResponseRecorder {
	t.Helper()
	return requestAs(t, path, o, token.Claims{Resources: []string{"*"}, Namespaces: []string{"*"}})
}

// requestAs is like ask, but the token has the rights in claims.
func requestAs(t *testing.T, path string, o *objects, claims token.Claims) *httptest.ResponseRecorder {
	t.Helper()
	claims.Cluster, claims.Expires = "default", time.Now().Add(time.Hour)
	keys, err := token.ParseKeys(strings.Repeat("k", 48))
	require.NoError(t, err)
	signed, err := keys.Sign(claims, time.Now())
	require.NoError(t, err)
	clusters, err := edge.ParseClusters(`{"default":{"groups":[{"name":"pods","resources":["v1/pods"],"shards":256}]}}`)
	require.NoError(t, err)
	handler := edge.NewHandler(edge.Config{
		Keys: keys, Clusters: clusters, Now: time.Now, Version: "v1.2.3",
		Object: func(name string) http.RoundTripper { return oneOf{o, name} },
	})
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+signed)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// The handler queries Durable Objects concurrently. An object that does not respond
// therefore delays the metrics of other objects only briefly.
func TestMetricsDoNotWaitForOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &objects{}
		o.answer = func(name string, r *http.Request) (*http.Response, error) {
			switch {
			case strings.HasSuffix(name, "/7-of-256"):
				return silent(name, r)
			case strings.HasSuffix(name, "/9-of-256"):
				return nil, errors.New("it broke")
			}
			time.Sleep(time.Second) // virtual time
			return healthy(name, r)
		}
		start := time.Now()
		w := ask(t, "/metrics", o)
		assert.Less(t, time.Since(start), 8*time.Second)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		body := w.Body.String()
		assert.Equal(t, 256, o.asked)
		assert.Equal(t, 64, o.highest, "in parallel, up to the limit")
		assert.Contains(t, body, `watchglass_edge_up{cluster="default",object="pods/7-of-256"} 0`)
		assert.Contains(t, body, "it took more than 2s")
		assert.Contains(t, body, `watchglass_edge_up{cluster="default",object="pods/9-of-256"} 0`)
		assert.Contains(t, body, "it broke")
		assert.Equal(t, 254, strings.Count(body, "\nwatchglass_readers{"))
		assert.NotContains(t, body, `readers{cluster="default",object="pods/7-of-256"}`)
		assert.NotContains(t, body, "another cause", "only limits are reasons")
		of := `cluster="default",object="pods/255-of-256"`
		for _, line := range []string{
			`watchglass_build_info{cluster="default",version="v1.2.3",goversion="` + runtime.Version() + `"} 1`,
			`watchglass_edge_up{` + of + `} 1`, `watchglass_readers{` + of + `} 2`, `watchglass_memory_bytes{` + of + `} 5`,
			`watchglass_limit{` + of + `,limit="max-readers"} 4096`, `watchglass_limit{` + of + `,limit="max-memory"} 90`,
			`watchglass_limit_refusals_total{` + of + `,reason="max-message-rate"} 1`, `watchglass_limit_refusals_total{` + of + `,reason="write-timeout"} 0`,
			`watchglass_edge_unacknowledged_bytes{` + of + `} 7`,
			`watchglass_objects{` + of + `,resource="v1/pods"} 3`, `watchglass_edge_live{` + of + `,resource="v1/pods"} 1`,
			`watchglass_cache_bytes{` + of + `,resource="v1/pods"} 11`, `watchglass_history_events{` + of + `,resource="v1/pods"} 12`,
			`watchglass_events_total{` + of + `,resource="v1/pods"} 13`, `watchglass_upstream_lists_total{` + of + `,resource="v1/pods"} 14`,
			`watchglass_upstream_failures_total{` + of + `,resource="v1/pods",reason="expired"} 15`,
			`watchglass_watch_terminations_total{` + of + `,resource="v1/pods",reason="slow_consumer"} 16`,
			`watchglass_watch_terminations_total{` + of + `,resource="v1/pods",reason="overtaken"} 17`,
			`watchglass_watch_stalls_total{` + of + `,resource="v1/pods"} 18`, `watchglass_watch_conflations_total{` + of + `,resource="v1/pods"} 19`,
			`watchglass_watch_initial_events_total{` + of + `,resource="v1/pods"} 20`,
			`watchglass_connections_total{` + of + `} 21`, `watchglass_refused_total{` + of + `} 22`, `watchglass_malformed_total{` + of + `} 23`,
			`watchglass_messages_total{` + of + `} 24`, `watchglass_bytes_total{` + of + `} 25`,
			`watchglass_subscription_errors_total{` + of + `,code="403"} 26`, `watchglass_subscription_errors_total{` + of + `,code="410"} 0`,
			`watchglass_limit_refusals_total{` + of + `,reason="max-readers"} 22`, `watchglass_limit_refusals_total{` + of + `,reason="hello-timeout"} 27`,
			`watchglass_kubeapi_requests_total{` + of + `,verb="get",code="404"} 28`, `watchglass_kubeapi_requests_total{` + of + `,verb="list",code="200"} 29`,
			`watchglass_upstream_bytes_total{` + of + `,resource="v1/pods"} 30`, `watchglass_faults_total{` + of + `,resource="v1/pods"} 31`,
			`watchglass_resource_readers{` + of + `,resource="v1/pods"} 2`, `watchglass_subscriptions{` + of + `,resource="v1/pods"} 32`,
			`watchglass_kubeapi_watches{` + of + `} 33`, `watchglass_kubeapi_waiting_requests{` + of + `} 34`,
			`watchglass_upstream_watches{` + of + `} 1`, `watchglass_upstream_streams_total{` + of + `,resource="v1/pods"} 16`,
			`watchglass_event_delivery_seconds_bucket{` + of + `,le="0.00025"} 3`, `watchglass_event_delivery_seconds_bucket{` + of + `,le="16"} 7`,
			`watchglass_event_delivery_seconds_bucket{` + of + `,le="+Inf"} 12`, `watchglass_event_delivery_seconds_sum{` + of + `} 80.5`,
			`watchglass_event_delivery_seconds_count{` + of + `} 12`, `watchglass_list_duration_seconds_count{` + of + `,code="200"} 29`,
			`watchglass_initial_sync_seconds_bucket{` + of + `,resource="v1/pods",le="163.84"} 1`,
			`watchglass_progress_age_seconds{` + of + `,resource="v1/pods"} 4`, `watchglass_stale_seconds{` + of + `,resource="v1/pods"} 0`,
		} {
			assert.True(t, strings.Contains(body, "\n"+line+"\n"), line)
		}
	})
}

// A metric that both the edge and the connector expose has the same name and type in both.
// Dashboards and alerts therefore work for both.
func TestMetricsHaveTheNamesOfTheConnector(t *testing.T) {
	types := func(text string) map[string]string {
		all := map[string]string{}
		for line := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
				name, kind, _ := strings.Cut(strings.TrimSpace(name), " ")
				assert.NotContains(t, all, name, "samples of one name follow each other")
				all[name] = kind
			}
		}
		return all
	}
	c := connector.New(connector.Config{Source: memory.New(), Logger: slog.New(slog.DiscardHandler)})
	defer c.Close(t.Context())
	release, err := c.Hold(t.Context(), api.Resource{Version: "v1", Name: "pods"})
	require.NoError(t, err)
	defer release()
	timings := metrics.NewTimings()
	timings.InitialSync(api.Resource{Version: "v1", Name: "pods"}, time.Second)
	timings.Ended("list", http.StatusOK, time.Second)
	served := kubeapi.New(kubeapi.Config{Backend: c.Backend()})
	served.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api", nil))
	handler, err := metrics.Handler(slog.New(slog.DiscardHandler), append(metrics.Process("v1.2.3"), timings,
		metrics.Connector(c), metrics.Limits(c.Limits()), metrics.Memory(func() int64 { return 1 }), metrics.KubeAPI(served))...)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	ofConnector := types(w.Body.String())
	require.NotEmpty(t, ofConnector)
	var shared []string
	ofEdge := types(ask(t, "/metrics", &objects{answer: healthy}).Body.String())
	for name, kind := range ofEdge {
		own, edgeOnly := strings.CutPrefix(name, "watchglass_edge_")
		if edgeOnly {
			assert.NotContains(t, ofConnector, "watchglass_"+own, "the connector has this metric: %s", name)
			continue
		}
		assert.Equal(t, ofConnector[name], kind, name)
		shared = append(shared, name)
	}
	assert.ElementsMatch(t, documented(t, ofConnector), shared)
}

// documented returns the metrics of the connector that the edge also has according to
// OPERATIONS.md. For each other metric of the connector, it checks that OPERATIONS.md
// contains a reason.
func documented(t *testing.T, ofConnector map[string]string) (shared []string) {
	t.Helper()
	text, err := os.ReadFile("../OPERATIONS.md")
	require.NoError(t, err)
	reasons := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^- \*\*([a-z]+)\*\*: `).FindAllSubmatch(text, -1) {
		reasons[string(found[1])] = false
	}
	var all []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(watchglass_[a-z_]+)` \\|[^|]*\\|[^|]*\\| (?:yes|no: ([a-z]+)) \\|").FindAllSubmatch(text, -1) {
		name, reason := string(row[1]), string(row[2])
		all = append(all, name)
		if reason == "" {
			shared = append(shared, name)
			continue
		}
		assert.Contains(t, reasons, reason, name)
		reasons[reason] = true
	}
	require.Len(t, all, len(regexp.MustCompile("(?m)^\\| `watchglass_").FindAll(text, -1)), "a row does not say whether the edge has the metric")
	for name := range ofConnector {
		if strings.HasPrefix(name, "watchglass_") {
			assert.Contains(t, all, name, "OPERATIONS.md does not say whether the edge has it")
		}
	}
	for reason, used := range reasons {
		assert.True(t, used, "no metric has the reason %s", reason)
	}
	return shared
}

// A resource that is not live has been stale since its last progress. A resource without
// progress has no age.
func TestStaleResourcesHaveAnAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := ask(t, "/metrics", &objects{answer: func(string, *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			fmt.Fprintf(w, `{"resources":{"v1/pods":{"state":"stale","lastProgress":%d},"v1/nodes":{"state":"connecting","lastProgress":0}}}`,
				time.Now().Add(-90*time.Second).UnixMilli())
			return w.Result(), nil
		}}).Body.String()
		of := `{cluster="default",object="pods/0-of-256",resource=`
		for _, line := range []string{
			`watchglass_progress_age_seconds` + of + `"v1/pods"} 90`, `watchglass_stale_seconds` + of + `"v1/pods"} 90`,
			`watchglass_objects` + of + `"v1/nodes"} 0`, `watchglass_edge_live` + of + `"v1/nodes"} 0`,
		} {
			assert.True(t, strings.Contains(body, "\n"+line+"\n"), line)
		}
		assert.False(t, strings.Contains(body, `seconds`+of+`"v1/nodes"}`))
	})
}

func TestReadinessDoesNotWaitForOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := ask(t, "/readyz", &objects{answer: silent})
		assert.Equal(t, 8*time.Second, time.Since(start), "64 at a time")
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Equal(t, 256, strings.Count(w.Body.String(), "it took more than 2s"))
		w = ask(t, "/readyz", &objects{answer: healthy})
		assert.Equal(t, http.StatusOK, w.Code, w.Body)
	})
}

// The metrics and the reasons in /readyz cover all resources and namespaces. A token for
// only some resources or namespaces therefore grants access to neither.
func TestRestrictedTokensReceiveNeitherMetricsNorReasons(t *testing.T) {
	o := &objects{answer: healthy}
	unready := &objects{answer: func(string, *http.Request) (*http.Response, error) { return nil, errors.New("it broke") }}
	for name, claims := range map[string]token.Claims{
		"some namespaces": {Resources: []string{"*"}, Namespaces: []string{"team-a"}},
		"some resources":  {Resources: []string{"v1/pods"}, Namespaces: []string{"*"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := requestAs(t, "/metrics", o, claims)
			assert.Equal(t, http.StatusForbidden, w.Code)
			assert.Contains(t, w.Body.String(), "mint one with --resources '*' --namespaces '*'")
			assert.NotContains(t, w.Body.String(), "watchglass_")
			w = requestAs(t, "/readyz", unready, claims)
			assert.Equal(t, http.StatusServiceUnavailable, w.Code)
			assert.Equal(t, "not ready\n", w.Body.String())
			w = requestAs(t, "/readyz", o, claims)
			assert.Equal(t, http.StatusOK, w.Code, w.Body)
		})
	}
	assert.Contains(t, ask(t, "/readyz", unready).Body.String(), "it broke")
}
