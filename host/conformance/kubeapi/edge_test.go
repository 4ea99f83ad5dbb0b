package kubeapi

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/conformance/internal/clients"
	"github.com/watchglass/watchglass/host/edge"
	"github.com/watchglass/watchglass/host/internal/workerd"
	"github.com/watchglass/watchglass/host/push"
)

// checkout is the root of the repository.
const checkout = "../../.."

// worker is a proxy in front of an edge in workerd. The edge is the Go worker with a
// Durable Object that a connector feeds from the rig's source. The proxy adds a token to
// requests that have none, because kubectl sends no token without TLS.
type worker struct {
	*rig
	keys    token.Keys
	address string
	proxy   *httputil.ReverseProxy
	bearer  atomic.Pointer[string] // token for requests that have none

	mu   sync.Mutex
	seen map[api.Resource]api.ResourceVersion // versions that the Durable Object is known to have
}

func atTheEdge(r *rig) http.Handler { return newWorker(r) }

func newWorker(r *rig) *worker {
	w := &worker{rig: r, seen: map[api.Resource]api.ResourceVersion{}}
	require.FileExists(r, filepath.Join(checkout, "examples/edge/dist/worker.js"), `build it first: "make worker"`)
	binary, err := workerd.Find(checkout)
	require.NoError(r, err)
	key := rand.Text() + rand.Text()
	w.keys, err = token.ParseKeys(key)
	require.NoError(r, err)
	process, err := workerd.Start(context.Background(), workerd.Config{
		Binary: binary, Path: filepath.Join(checkout, "examples/edge/local/config.capnp"),
		Flags: []string{"--directory-path=objects=" + r.TempDir(), "--directory-path=page=" + r.TempDir()},
		Env:   []string{"WATCHGLASS_KEY=" + key, "WATCHGLASS_CLUSTERS="},
	})
	require.NoError(r, err)
	r.Cleanup(func() {
		if complaint := process.Stop(); r.Failed() {
			r.Log(complaint)
		}
	})
	w.address = process.Address()
	w.bear(w.sign(time.Hour, false))
	w.proxy = &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(&url.URL{Scheme: "http", Host: w.address})
		if p.Out.Header.Get("Authorization") == "" {
			p.Out.Header.Set("Authorization", "Bearer "+*w.bearer.Load())
		}
	}}
	w.feed()
	require.Eventually(r, func() bool {
		code, _ := w.get("/readyz")
		return code == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
	return w
}

func (w *worker) bear(bearer string) { w.bearer.Store(&bearer) }

func (w *worker) sign(lifetime time.Duration, feed bool) string {
	now := time.Now()
	text, err := w.keys.Sign(token.Claims{
		User: "test", Cluster: edge.DefaultCluster, Resources: []string{token.Any}, Namespaces: []string{token.Any},
		Feed: feed, Expires: now.Add(lifetime),
	}, now)
	require.NoError(w, err)
	return text
}

// feed pushes all resources to the Durable Object, like the command push, until the test
// ends.
func (w *worker) feed() {
	var resources []api.Resource
	for _, schema := range catalog.All() {
		resources = append(resources, schema.Resource)
	}
	p, err := push.New(push.Config{
		Connector: w.connector(), URL: "ws://" + w.address + "/feed", Resources: resources, ClusterID: w.source.ClusterID,
		Token: func() (string, error) { return w.sign(time.Hour, true), nil }, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		require.NoError(w, <-done)
	})
}

func (w *worker) get(path string) (code int, body string) {
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://"+w.address+path, nil)
	require.NoError(w, err)
	request.Header.Set("Authorization", "Bearer "+w.sign(time.Hour, false))
	response, err := http.DefaultClient.Do(request)
	require.NoError(w, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w, err)
	return response.StatusCode, string(text)
}

// ServeHTTP forwards a request. Except during churn, it first waits until the Durable
// Object has all earlier writes, which arrive with a delay.
func (w *worker) ServeHTTP(to http.ResponseWriter, request *http.Request) {
	if !w.rough.Load() {
		w.catchUp()
	}
	w.proxy.ServeHTTP(to, request)
}

func (w *worker) catchUp() {
	newest := map[api.Resource]api.ResourceVersion{}
	w.rig.mu.Lock()
	for _, written := range w.log {
		newest[written.resource] = written.rv
	}
	w.rig.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	for resource, rv := range newest {
		if w.seen[resource] == rv {
			continue
		}
		root := "/apis/" + resource.APIVersion()
		if resource.Group == "" {
			root = "/api/" + resource.Version
		}
		code, body := w.get(fmt.Sprintf("%s/%s?limit=1&resourceVersion=%s&resourceVersionMatch=NotOlderThan", root, resource.Name, rv))
		if code == http.StatusOK {
			w.seen[resource] = rv
		} else {
			w.Logf("the edge is behind: %s", body)
		}
	}
}

// An informer whose token expires continues with the next token.
func TestInformersContinueWithAnotherToken(t *testing.T) {
	var edge *worker
	r := newRig(t, func(r *rig) http.Handler {
		edge = newWorker(r)
		return edge
	})
	r.putPod("a/one", 1, "web", "Running")
	edge.bear(edge.sign(3*time.Second, false))
	informer := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(clients.Typed(t, r.config()), "pods", "", fields.Everything()), &corev1.Pod{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go informer.RunWithContext(ctx)
	has := func(key string) func() bool {
		return func() bool { _, ok, _ := informer.GetStore().GetByKey(key); return ok }
	}
	require.Eventually(t, has("a/one"), time.Minute, 10*time.Millisecond)
	before := *edge.bearer.Load()
	edge.bear(edge.sign(time.Hour, false))
	require.Eventually(t, func() bool {
		_, status := edge.keys.Verify(before, time.Now())
		return status != nil
	}, time.Minute, 10*time.Millisecond)
	r.putPod("a/two", 1, "web", "Running")
	require.Eventually(t, has("a/two"), time.Minute, 10*time.Millisecond)
	watches := slices.DeleteFunc(r.asked(), func(request string) bool { return !strings.Contains(request, "watch=true") })
	require.Greater(t, len(watches), 1, "the previous worker has ended")
}
