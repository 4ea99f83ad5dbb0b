package kube_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/kube"
)

var (
	podMetrics  = api.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}
	nodeMetrics = api.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "nodes"}
)

// metricsServer is a kube-apiserver with an aggregated metrics.k8s.io, as metrics-server
// serves it: without versions, watches or item kinds.
type metricsServer struct {
	silent bool // do not respond to requests for metrics

	mu    sync.Mutex
	items []string // metrics of pods
	code  int      // status code of a refusal; zero if requests succeed
	polls []time.Time
}

func (m *metricsServer) source(t *testing.T, interval time.Duration) *kube.Source {
	s, err := kube.New(kube.Config{
		REST: &rest.Config{Host: "http://cluster", Transport: m}, MetricsInterval: interval, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return s
}

// use replaces the metrics of all pods, and ends an earlier refusal.
func (m *metricsServer) use(items ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items, m.code = items, 0
}

func (m *metricsServer) refuse(code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.code = code
}

func (m *metricsServer) polled() []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.polls
}

func usage(name, cpu string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web"}},`+
		`"timestamp":"2026-01-01T00:00:00Z","window":"15s","containers":[{"name":"a","usage":{"cpu":%q,"memory":"10Mi"}},{"name":"b","usage":{"cpu":"1n","memory":"1024Ki"}}]}`, name, cpu)
}

func (m *metricsServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.silent && r.URL.Path == "/apis/metrics.k8s.io/v1beta1/pods" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r.URL.Path {
	case "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","groups":[{"name":"metrics.k8s.io","versions":[{"groupVersion":"metrics.k8s.io/v1beta1","version":"v1beta1"}]}]}`)
	case "/api/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[`+
			`{"name":"componentstatuses","singularName":"componentstatus","namespaced":false,"kind":"ComponentStatus","verbs":["get","list"]},`+
			`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]}]}`)
	case "/apis/metrics.k8s.io/v1beta1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"metrics.k8s.io/v1beta1","resources":[`+
			`{"name":"nodes","singularName":"","namespaced":false,"kind":"NodeMetrics","verbs":["get","list"]},`+
			`{"name":"pods","singularName":"","namespaced":true,"kind":"PodMetrics","verbs":["get","list"]}]}`)
	case "/api/v1/namespaces/kube-system":
		fmt.Fprint(w, `{"metadata":{"uid":"cluster-1"}}`)
	case "/apis/metrics.k8s.io/v1beta1/pods":
		m.polls = append(m.polls, time.Now())
		if m.code != 0 {
			status(w, m.code, "Refused", "the server is currently unable to handle the request")
			break
		}
		fmt.Fprintf(w, `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[%s]}`, strings.Join(m.items, ","))
	case "/apis/authentication.k8s.io/v1/tokenreviews", "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		review(w, r)
	default:
		status(w, 404, "NotFound", "the server could not find the requested resource")
	}
	return w.Result(), nil
}

// review responds to a TokenReview or a SubjectAccessReview. It accepts every token, and
// grants every right except ben's to metrics.
func review(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Spec struct {
			Token, User        string
			ResourceAttributes struct{ Group string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		status(w, 400, "BadRequest", err.Error())
		return
	}
	w.WriteHeader(http.StatusCreated)
	allowed := asked.Spec.User != "ben" || asked.Spec.ResourceAttributes.Group != podMetrics.Group
	fmt.Fprintf(w, `{"status":{"authenticated":true,"user":{"username":%q},"allowed":%v}}`, holder(asked.Spec.Token), allowed)
}

// metricsSink records the calls of a stream of metrics as lines without versions, and
// checks that versions increase.
type metricsSink struct {
	mu     sync.Mutex
	lines  []string
	last   api.ResourceVersion
	values map[api.Key]string
	wanted chan struct{}
	ended  bool // if true, all calls return an error
}

func newMetricsSink() *metricsSink {
	return &metricsSink{values: map[api.Key]string{}, wanted: make(chan struct{})}
}

func (s *metricsSink) record(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
	if s.ended {
		return errors.New("the stream outlives its context")
	}
	return nil
}

// taken returns the lines that were recorded since its last call.
func (s *metricsSink) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

func (s *metricsSink) Identify(name string) error {
	name, _, _ = strings.Cut(name, " metrics ")
	return s.record("of %s", name)
}
func (s *metricsSink) BeginList() error        { return s.record("list") }
func (s *metricsSink) Wanted() <-chan struct{} { return s.wanted }
func (s *metricsSink) Object(key api.Key, rv api.ResourceVersion, value []byte) error {
	if err := s.follows(rv); err != nil {
		return err
	}
	s.values[key] = string(value)
	return s.record("%s", key)
}

// follows returns an error if rv is not greater than all earlier versions.
func (s *metricsSink) follows(rv api.ResourceVersion) error {
	if rv <= s.last {
		return fmt.Errorf("version %d does not follow %d", rv, s.last)
	}
	s.last = rv
	return nil
}

func (s *metricsSink) EndList(rv api.ResourceVersion) error  { return s.at("end", rv) }
func (s *metricsSink) Progress(rv api.ResourceVersion) error { return s.at("progress", rv) }

func (s *metricsSink) at(what string, rv api.ResourceVersion) error {
	if rv < s.last {
		return fmt.Errorf("%s at %d, before %d", what, rv, s.last)
	}
	s.last = rv
	return s.record("%s", what)
}

func (s *metricsSink) Changes(changes []source.Change) error {
	for _, c := range changes {
		if err := s.follows(c.ResourceVersion); err != nil {
			return err
		}
		verb := "put"
		if s.values[c.Key] = string(c.Value); c.Value == nil {
			verb = "delete"
			delete(s.values, c.Key)
		}
		s.record("%s %s", verb, c.Key)
	}
	return nil
}

// metrics runs f with a stream of the metrics of pods, in a synctest bubble, where time
// is virtual.
func metrics(t *testing.T, m *metricsServer, interval time.Duration, f func(src *kube.Source, s *metricsSink, ended <-chan error)) {
	synctest.Test(t, func(t *testing.T) {
		src := m.source(t, interval)
		defer src.Close()
		s, ended := newMetricsSink(), make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		returned := make(chan struct{})
		go func() {
			ended <- src.Stream(ctx, podMetrics, 0, s)
			close(returned)
		}()
		synctest.Wait()
		f(src, s, ended)
		cancel()
		synctest.Wait()
		select {
		case <-returned:
		default:
			assert.Fail(t, "the stream outlives its context")
			s.mu.Lock()
			s.ended = true
			s.mu.Unlock()
		}
	})
}

func TestMetricsArePolled(t *testing.T) {
	m := &metricsServer{}
	m.use(usage("b", "2m"), usage("a", "1m"), usage("c", "3m"))
	metrics(t, m, 0, func(_ *kube.Source, s *metricsSink, _ <-chan error) {
		assert.Equal(t, []string{"of kube-cluster-1", "list", "shop/a", "shop/b", "shop/c", "end"}, s.taken())
		assert.JSONEq(t, `{"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1",`+usage("a", "1m")[1:], s.values["shop/a"])

		m.use(usage("a", "1m"), usage("c", "4m"), usage("d", "5m"))
		time.Sleep(kube.DefaultMetricsInterval * 11 / 10)
		synctest.Wait()
		lines := s.taken()
		assert.Subset(t, []string{"progress"}, lines[:2], "readers learn that the data is current")
		assert.Equal(t, []string{"delete shop/b", "put shop/c", "put shop/d", "progress"}, lines[len(lines)-4:])
		assert.Contains(t, s.values["shop/c"], "4m")
	})
}

// The interval between polls varies, so that connectors do not poll together. Readers
// that wait for progress cause no polls.
func TestMetricsInterval(t *testing.T) {
	m := &metricsServer{}
	metrics(t, m, time.Minute, func(_ *kube.Source, s *metricsSink, _ <-chan error) {
		s.taken()
		for range 100 {
			s.wanted <- struct{}{}
		}
		synctest.Wait()
		assert.Len(t, s.taken(), 100, "each request is answered")
		assert.Len(t, m.polled(), 1)
		for range 50 * 60 {
			time.Sleep(time.Second)
		}
		times, distinct := m.polled(), map[time.Duration]bool{}
		for i := 1; i < len(times); i++ {
			pause := times[i].Sub(times[i-1])
			assert.True(t, 54*time.Second <= pause && pause < 66*time.Second, "%v", pause)
			distinct[pause] = true
		}
		assert.Greater(t, len(distinct), 10)
		assert.Greater(t, len(times), 40)
	})
}

func TestMetricsCannotBeResumed(t *testing.T) {
	m := &metricsServer{}
	m.use(usage("a", "1m"))
	metrics(t, m, 0, func(src *kube.Source, s *metricsSink, _ <-chan error) {
		bounded, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		err := src.Stream(bounded, podMetrics, s.last, newMetricsSink())
		assert.ErrorIs(t, err, api.Expired(""))

		time.Sleep(time.Millisecond)
		later, ended := newMetricsSink(), make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { ended <- m.source(t, 0).Stream(ctx, podMetrics, 0, later) }()
		synctest.Wait()
		cancel()
		require.Equal(t, context.Canceled, <-ended)
		assert.Len(t, later.values, 1)
		assert.Greater(t, later.last, s.last, "versions of a later process are newer than all of this one")
	})
}

func TestMetricsServerThatFails(t *testing.T) {
	m := &metricsServer{}
	metrics(t, m, 0, func(_ *kube.Source, _ *metricsSink, ended <-chan error) {
		m.refuse(503)
		var status *api.Status
		require.ErrorAs(t, <-ended, &status)
		assert.Equal(t, 503, status.Code)
		assert.Contains(t, status.Message, "GET /apis/metrics.k8s.io/v1beta1/pods")
	})
}

func TestMetricsServerThatDoesNotRespond(t *testing.T) {
	m := &metricsServer{silent: true}
	metrics(t, m, 0, func(_ *kube.Source, s *metricsSink, ended <-chan error) {
		began := time.Now()
		assert.ErrorContains(t, <-ended, "no response within")
		assert.Equal(t, kube.DefaultRequestTimeout, time.Since(began))
		assert.Equal(t, []string{"of kube-cluster-1"}, s.taken())
	})
	metrics(t, m, 0, func(*kube.Source, *metricsSink, <-chan error) {}) // the stream ends with its context
}

func TestUnusableMetricsAreIgnored(t *testing.T) {
	m := &metricsServer{}
	m.use(`{"metadata":{"name":"x"}}`, `{"metadata":{"namespace":"shop"}}`, `7`, usage("a", "1m"))
	metrics(t, m, 0, func(_ *kube.Source, s *metricsSink, _ <-chan error) {
		assert.Equal(t, []string{"of kube-cluster-1", "list", "shop/a", "end"}, s.taken())
	})
}

func TestMetricsAreResourcesLikeOthers(t *testing.T) {
	m := &metricsServer{}
	src := m.source(t, 0)
	all, err := src.Resources(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []api.Resource{nodeMetrics, podMetrics, pods}, all, "other resources without watches are not served")
	schema, err := src.Schema(t.Context(), podMetrics)
	require.NoError(t, err)
	assert.Equal(t, "PodMetrics", schema.Kind)
	found, err := src.Resolve(t.Context(), "podmetrics")
	require.NoError(t, err)
	assert.Equal(t, podMetrics, found)
	found, err = src.Resolve(t.Context(), "pods")
	require.NoError(t, err)
	assert.Equal(t, pods, found)

	_, err = m.source(t, -1).Schema(t.Context(), podMetrics)
	assert.ErrorIs(t, err, api.NotFound(""))
}
