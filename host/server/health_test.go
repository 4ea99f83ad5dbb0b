package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

// distant is a source that a test can make unavailable.
type distant struct {
	*memory.Source
	away *atomic.Bool
}

var errAway = errors.New("etcd 10.0.0.1:2379: connection refused")

func (d distant) Ready(context.Context) error {
	if d.away.Load() {
		return errAway
	}
	return nil
}

func (d distant) Stream(ctx context.Context, r api.Resource, from api.ResourceVersion, s source.Sink) error {
	if d.away.Load() {
		return errAway
	}
	return d.Source.Stream(ctx, r, from, s)
}

func startDistant(t *testing.T, away bool) (*rig, *atomic.Bool) {
	return startDistantWith(t, away, server.Config{})
}

func startDistantWith(t *testing.T, away bool, config server.Config) (*rig, *atomic.Bool) {
	gone := new(atomic.Bool)
	gone.Store(away)
	wrap := func(s *memory.Source) source.Source { return distant{s, gone} }
	return startFrom(t, wrap, nil, config), gone
}

// private requests a path from the handler for operators.
func (r *rig) private(t *testing.T, path string, header ...string) (code int, body string) {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.server.Private().ServeHTTP(w, request)
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, string(text)
}

func TestHealth(t *testing.T) {
	r, _ := startDistant(t, false)
	resp, body := r.get(t, "/healthz")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "ok\n", body)
	_, body = r.get(t, "/readyz")
	assert.Equal(t, "ready\n", body)
	_, body = r.get(t, "/readyz?verbose")
	assert.Equal(t, "ready\n", body, "no resource is watched")
	_, body = r.get(t, "/readyz", "Accept", "application/json")
	assert.JSONEq(t, `{"ready":true,"reasons":[]}`, body)
}

func TestNotReadyWithoutSourceAndCache(t *testing.T) {
	r, _ := startDistant(t, true)
	resp, body := r.get(t, "/readyz")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "not ready: the source cannot be reached\n", body)
	resp, body = r.get(t, "/readyz", "Accept", "application/json")
	assert.Equal(t, 503, resp.StatusCode)
	assert.JSONEq(t, `{"ready":false,"reasons":["the source cannot be reached"]}`, body)
	resp, _ = r.get(t, "/healthz")
	assert.Equal(t, 200, resp.StatusCode, "a restart would not help")

	code, body := r.private(t, "/readyz")
	assert.Equal(t, 503, code)
	assert.Equal(t, "not ready: the source cannot be reached: "+errAway.Error()+"\n", body)
}

// A server with stale collections is ready, so that one lost source does not remove
// every replica from the load balancer.
func TestReadyWhileStale(t *testing.T) {
	r, away := startDistant(t, false)
	release, err := r.connector.Hold(t.Context(), pods)
	require.NoError(t, err)
	defer release()
	_, body := r.get(t, "/readyz?verbose")
	assert.Equal(t, "v1/pods: current at resourceVersion 21\nready\n", body)
	_, body = r.get(t, "/metrics")
	assert.Contains(t, body, "\nwatchglass_stale_seconds{resource=\"v1/pods\"} 0\n")

	away.Store(true)
	r.source.Fail(errAway)
	require.Eventually(t, func() bool { return r.connector.Stats().Resources[0].Failures > 0 }, time.Minute, time.Millisecond)
	for _, path := range []string{"/readyz", "/readyz?verbose"} {
		resp, body := r.get(t, path)
		assert.Equal(t, 200, resp.StatusCode)
		assert.NotContains(t, body, "10.0.0.1", "only operators see addresses")
	}
	resp, body := r.get(t, "/readyz?verbose", "Accept", "application/json")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Regexp(t, `"resources":\[\{"resource":"v1/pods","state":"stale","resourceVersion":"21","staleSeconds":[\d.e-]+\}\]`, body)
	_, body = r.get(t, "/readyz?verbose")
	assert.Regexp(t, `^v1/pods: stale for \d+s at resourceVersion 21\nready\n$`, body)

	_, body = r.get(t, "/metrics")
	assert.Regexp(t, `\nwatchglass_stale_seconds\{resource="v1/pods"\} [0-9.e-]+[1-9]`, body)
	code, body := r.private(t, "/readyz?verbose")
	assert.Equal(t, 200, code)
	assert.Regexp(t, `^v1/pods: stale for \d+s at resourceVersion 21: `+regexp.QuoteMeta(errAway.Error())+`\nready\n$`, body)
}

func TestResourceThatIsNotCached(t *testing.T) {
	r, _ := startDistant(t, true)
	holding, stop := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() {
		defer close(held)
		if release, err := r.connector.Hold(holding, pods); err == nil {
			release()
		}
	}()
	require.Eventually(t, func() bool {
		all := r.connector.Stats().Resources
		return len(all) == 1 && all[0].Failures > 0
	}, time.Minute, time.Millisecond)
	resp, body := r.get(t, "/readyz?verbose")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "v1/pods: not cached\nnot ready: the source cannot be reached\n", body)
	_, body = r.private(t, "/readyz?verbose")
	assert.Contains(t, body, "v1/pods: not cached: "+errAway.Error()+"\n")
	stop()
	<-held
}

func TestPrivateServerShowsResourcesOnlyToOperators(t *testing.T) {
	r, _ := startDistantWith(t, false, server.Config{Private: true})
	release, err := r.connector.Hold(t.Context(), pods)
	require.NoError(t, err)
	defer release()
	_, body := r.get(t, "/readyz?verbose")
	assert.Equal(t, "ready\n", body)
	_, body = r.private(t, "/readyz?verbose")
	assert.Equal(t, "v1/pods: current at resourceVersion 21\nready\n", body)
}

// policy authorizes the token "reader" for resources, and "operator" for everything.
type policy struct{}

func (policy) Authenticate(_ context.Context, token string) (*access.User, *api.Status) {
	if token != "reader" && token != "operator" {
		return nil, api.Unauthorized("the token is wrong")
	}
	return &access.User{Name: token}, nil
}

func (policy) Authorize(_ context.Context, user *access.User, r access.Request) (time.Time, *api.Status) {
	if user.Name == "reader" && r.Path != "" {
		return time.Time{}, api.Forbidden("reader may not " + r.String())
	}
	return time.Time{}, nil
}

// The responses of /metrics and /readyz?verbose describe every resource. As with
// kube-apiserver, only clients with the right to get /metrics receive this information.
func TestMetricsNeedTheRightToGetThem(t *testing.T) {
	r := start(t, server.Config{Access: policy{}})
	release, err := r.connector.Hold(t.Context(), pods)
	require.NoError(t, err)
	defer release()
	for token, want := range map[string]struct {
		code    int
		metrics string
		ready   string
	}{
		"":                {401, "the token is wrong\n", "ready\n"},
		"Bearer wrong":    {401, "the token is wrong\n", "ready\n"},
		"Bearer reader":   {403, "reader may not get /metrics\n", "ready\n"},
		"Bearer operator": {200, "watchglass_", "v1/pods: current at resourceVersion 21\nready\n"},
	} {
		resp, body := r.get(t, "/metrics", "Authorization", token)
		assert.Equal(t, want.code, resp.StatusCode, token)
		assert.Contains(t, body, want.metrics, token)
		assert.Equal(t, map[bool]string{true: "Bearer"}[want.code == 401], resp.Header.Get("WWW-Authenticate"), token)
		resp, body = r.get(t, "/readyz?verbose", "Authorization", token)
		assert.Equal(t, 200, resp.StatusCode, token)
		assert.Equal(t, want.ready, body, token)
	}
	code, body := r.private(t, "/metrics")
	assert.Equal(t, 200, code)
	assert.Contains(t, body, "watchglass_")
}
