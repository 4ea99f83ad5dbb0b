//go:build !js

package edge_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/edge"
	"github.com/watchglass/watchglass/host/internal/workerd/workerdtest"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/metrics"
	"github.com/watchglass/watchglass/host/source/memory"
)

// metric is the description of a metric, parsed from /metrics.
type metric struct {
	kind   string
	labels map[string]bool // label names, except for cluster and object
	bounds map[string]bool // upper bounds of the buckets of a histogram
}

func parse(text string) map[string]metric {
	all := map[string]metric{}
	line := regexp.MustCompile(`^(watchglass_\w+?)(?:{(.*)})? \S+$`)
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	last := ""
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if typed, ok := strings.CutPrefix(l, "# TYPE "); ok {
			name, kind, _ := strings.Cut(typed, " ")
			all[name], last = metric{kind, map[string]bool{}, map[string]bool{}}, name
			continue
		}
		found := line.FindStringSubmatch(l)
		if found == nil {
			continue
		}
		for _, pair := range label.FindAllStringSubmatch(found[2], -1) {
			switch pair[1] {
			case "cluster", "object":
			case "le":
				all[last].bounds[pair[2]] = true
			default:
				all[last].labels[pair[1]] = true
			}
		}
	}
	return all
}

// value returns the value of a series, or "0" if it does not exist.
func value(text, series string) string {
	_, rest, found := strings.Cut("\n"+text, "\n"+series+" ")
	if !found {
		return "0"
	}
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// /metrics of the edge contains the metrics of a connector for each object, with the same
// labels and buckets. OPERATIONS.md lists the exceptions.
func TestAnObjectHasTheMetricsOfAConnector(t *testing.T) {
	address := workerdtest.Objects(t, "../..")
	source := memory.New()
	resource := api.Resource{Version: "v1", Name: "pods"}
	put := func(name string) api.ResourceVersion {
		return source.Put(resource, api.NewKey("a", name), []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`","namespace":"a","uid":"1"}}`))
	}
	put("one")
	object := within{address, "measured"}
	feed(t, source, address, object.name)
	keys, err := token.ParseKeys(strings.Repeat("k", 48))
	require.NoError(t, err)
	signed, err := keys.Sign(token.Claims{Cluster: "default", Resources: []string{"*"}, Namespaces: []string{"*"}, Expires: time.Now().Add(time.Hour)}, time.Now())
	require.NoError(t, err)
	handler := edge.NewHandler(edge.Config{Keys: keys, Clusters: edge.Clusters{"default": {}}, Now: time.Now, Version: "v1.2.3",
		Object: func(string) http.RoundTripper { return object }})
	ask := func(path string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+signed)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		code, body := ask("/api/v1/pods")
		require.Equal(c, http.StatusOK, code, body)
	}, time.Minute, 10*time.Millisecond)
	code, _ := ask("/api/v1/namespaces/a/pods/another")
	require.Equal(t, http.StatusNotFound, code)

	reader, subscription := readObject(t, address, object.name)
	last := put("two")
	require.NoError(t, reader.Until(t.Context(), func() bool { return subscription.ResourceVersion >= last }))
	require.NoError(t, reader.Send(t.Context(), &wire.Subscribe{Subscription: 2, Resource: "v1/pods", LabelSelector: "a=" + strings.Repeat("x", 9<<10), Credit: 1}))
	refused, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 3, Resource: "v1/pods", Namespace: "a", Credit: connectortest.Endless})
	require.NoError(t, err)
	require.NoError(t, reader.UntilSynced(t.Context(), refused))

	code, text := ask("/metrics")
	require.Equal(t, http.StatusOK, code, text)
	at := func(labels string) string { return `{cluster="default",object="all"` + labels + `}` }
	pods := at(`,resource="v1/pods"`)
	for series, expected := range map[string]string{
		"watchglass_readers" + at(""): "1", "watchglass_connections_total" + at(""): "1", "watchglass_refused_total" + at(""): "0",
		"watchglass_malformed_total" + at(""): "0", "watchglass_upstream_watches" + at(""): "1",
		"watchglass_subscriptions" + pods: "2", "watchglass_resource_readers" + pods: "1",
		"watchglass_event_delivery_seconds_count" + at(""): "1", "watchglass_initial_sync_seconds_count" + pods: "1",
		"watchglass_kubeapi_requests_total" + at(`,verb="get",code="404"`):                   "1",
		"watchglass_subscription_errors_total" + at(`,code="413"`):                           "1",
		"watchglass_limit_refusals_total" + at(`,reason="max-selector-bytes"`):               "1",
		"watchglass_upstream_streams_total" + pods:                                           "1",
		"watchglass_kubeapi_watches" + at(""):                                                "0",
		"watchglass_kubeapi_waiting_requests" + at(""):                                       "0",
		"watchglass_list_duration_seconds_count" + at(`,code="200"`):                         value(text, "watchglass_kubeapi_requests_total"+at(`,verb="list",code="200"`)),
		"watchglass_event_delivery_seconds_bucket" + at(`,le="16.384"`):                      "1",
		"watchglass_initial_sync_seconds_bucket" + at(`,resource="v1/pods",le="163.84"`):     "1",
		"watchglass_watch_terminations_total" + at(`,resource="v1/pods",reason="overtaken"`): "0",
	} {
		assert.Equal(t, expected, value(text, series), series)
	}
	assert.NotEqual(t, "0", value(text, "watchglass_upstream_bytes_total"+pods))
	assert.NotEqual(t, "0", value(text, "watchglass_bytes_total"+at("")))
	assert.NotEqual(t, "0", value(text, "watchglass_list_duration_seconds_count"+at(`,code="200"`)))
	compareWithConnector(t, parse(text), parse(scrapeConnector(t, source)))

	// The first reader leaves. A second reader violates the protocol, and the object
	// disconnects it.
	_ = reader.Conn.Close(nil) // the object also closes the connection
	hostile, _ := readObject(t, address, object.name)
	require.NoError(t, hostile.Conn.Write(t.Context(), []byte{0x7f, 0}))
	require.Error(t, hostile.UntilEnd(t.Context()))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, text := ask("/metrics")
		assert.Equal(c, "0", value(text, "watchglass_readers"+at("")))
		assert.Equal(c, "0", value(text, "watchglass_subscriptions"+pods))
		assert.Equal(c, "2", value(text, "watchglass_connections_total"+at("")))
		assert.Equal(c, "1", value(text, "watchglass_malformed_total"+at("")))
	}, time.Minute, 10*time.Millisecond)
}

// readObject connects a reader to a Durable Object, and waits until the reader has received
// all pods.
func readObject(t *testing.T, address, object string) (*connectortest.Reader, *connectortest.Subscription) {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws://"+address+"/"+object+"/watch", &websocket.DialOptions{
		Subprotocols: []string{wire.Subprotocol}, HTTPHeader: http.Header{"Authorization": {"Bearer " + workerdtest.Grant}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() }) // the test may have closed the connection
	reader := connectortest.NewReader(connectortest.Over(conn))
	require.NoError(t, reader.Hello(t.Context(), ""))
	s, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
	require.NoError(t, err)
	require.NoError(t, reader.UntilSynced(t.Context(), s))
	return reader, s
}

// scrapeConnector returns the text of the metrics of a connector that has served a list
// from the source.
func scrapeConnector(t *testing.T, source *memory.Source) string {
	t.Helper()
	timings := metrics.NewTimings()
	c := connector.New(connector.Config{Source: source, Timings: timings, Logger: slog.New(slog.DiscardHandler)})
	defer func() { assert.NoError(t, c.Close(context.WithoutCancel(t.Context()))) }()
	api := kubeapi.New(kubeapi.Config{Backend: c.Backend(), Ended: timings.Ended})
	api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil))
	handler, err := metrics.Handler(slog.New(slog.DiscardHandler), append(metrics.Process("v1.2.3"), timings,
		metrics.Connector(c), metrics.KubeAPI(api), metrics.Limits(c.Limits()), metrics.Memory(func() int64 { return 1 }))...)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func compareWithConnector(t *testing.T, ofEdge, ofConnector map[string]metric) {
	t.Helper()
	for name := range ofEdge {
		if !strings.HasPrefix(name, "watchglass_edge_") {
			assert.Equal(t, ofConnector[name], ofEdge[name], name)
		}
	}
	types := map[string]string{}
	for name, m := range ofConnector {
		types[name] = m.kind
	}
	for _, name := range documented(t, types) {
		assert.Contains(t, ofEdge, name)
	}
}
