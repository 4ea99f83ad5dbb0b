// These tests start a runtime of Durable Objects and a connector, which a program for
// GOOS=js cannot do.

//go:build !js

package edge_test

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/edge"
	"github.com/watchglass/watchglass/host/internal/workerd/workerdtest"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/kubeapi/kubeapitest"
	"github.com/watchglass/watchglass/host/push"
	"github.com/watchglass/watchglass/host/source/memory"
)

// within is a transport to a Durable Object. It sends requests over HTTP from the test
// process. In production, the worker sends them inside the runtime.
type within struct{ address, name string }

func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	inside := r.Clone(r.Context())
	inside.URL = &url.URL{Scheme: "http", Host: w.address, Path: "/" + w.name + r.URL.Path, RawQuery: r.URL.RawQuery}
	return http.DefaultTransport.RoundTrip(inside)
}

// feed feeds a Durable Object from a source until the test ends.
func feed(t *testing.T, source *memory.Source, address, name string) {
	t.Helper()
	c := connector.New(connector.Config{Source: source})
	p, err := push.New(push.Config{
		Connector: c, URL: "ws://" + address + "/" + name + "/feed", Resources: []api.Resource{{Version: "v1", Name: "pods"}},
		ClusterID: source.ClusterID,
		Token:     func() (string, error) { return workerdtest.FeedGrant, nil },
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
}

// fed is a transport that starts to feed the object at the first request, because the
// contract tests populate their source before this request.
type fed struct {
	within
	once sync.Once
	feed func()
}

func (f *fed) RoundTrip(r *http.Request) (*http.Response, error) {
	f.once.Do(f.feed)
	return f.within.RoundTrip(r)
}

func TestBackend(t *testing.T) {
	address := workerdtest.Objects(t, "../..")
	var opened atomic.Int64
	kubeapitest.Run(t, func(t *testing.T, source *memory.Source) kubeapi.Backend {
		object := within{address, "test-" + strconv.FormatInt(opened.Add(1), 10)}
		there := &fed{within: object, feed: func() {
			feed(t, source, address, object.name)
			direct := edge.NewBackend("test", edge.Cluster{}, func(string) http.RoundTripper { return object })
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				_, err := direct.Resources(t.Context())
				require.NoError(c, err)
			}, time.Minute, 10*time.Millisecond)
		}}
		return edge.NewBackend("test", edge.Cluster{}, func(name string) http.RoundTripper {
			assert.Equal(t, "test/all", name)
			return there
		})
	})
}

// The error response of an object reaches the client as a Status.
func TestBackendForwardsRefusals(t *testing.T) {
	address := workerdtest.Objects(t, "../..")
	b := edge.NewBackend("test", edge.Cluster{}, func(string) http.RoundTripper { return within{address, "unfed"} })
	_, err := b.Resources(t.Context())
	var status *api.Status
	require.ErrorAs(t, err, &status)
	assert.Equal(t, 503, status.Code)
	assert.Equal(t, 1, status.RetryAfterSeconds)
	assert.True(t, strings.HasPrefix(status.Message, "no connector has fed"), status.Message)
}
