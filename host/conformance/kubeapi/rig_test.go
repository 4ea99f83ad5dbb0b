package kubeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/host/client/backend"
	modules "github.com/watchglass/watchglass/host/conformance/internal/rig"
	"github.com/watchglass/watchglass/host/connector"
	serving "github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

var (
	pods        = api.Resource{Version: "v1", Name: "pods"}
	namespaces  = api.Resource{Version: "v1", Name: "namespaces"}
	nodes       = api.Resource{Version: "v1", Name: "nodes"}
	configMaps  = api.Resource{Version: "v1", Name: "configmaps"}
	deployments = api.Resource{Group: "apps", Version: "v1", Name: "deployments"}
	events      = api.Resource{Version: "v1", Name: "events"}
)

// rig consists of a source, a server of the Kubernetes API that reads from the source, and
// the recorded writes.
type rig struct {
	*testing.T
	source  *memory.Source
	handler http.Handler
	url     string
	rough   atomic.Bool  // watches are interrupted at random
	watches atomic.Int64 // watches while rough is set
	expired atomic.Int64 // number of these watches that ended with 410

	mu       sync.Mutex
	requests []string // paths and queries of the received requests
	log      []write
}

// write is one change. The value is nil for a deletion.
type write struct {
	resource api.Resource
	key      api.Key
	rv       api.ResourceVersion
	value    []byte
}

// behind contains functions that start a backend, by the name of the backend.
var behind = map[string]func(*rig) http.Handler{
	"connector": func(r *rig) http.Handler { return r.serve(r.connector().Backend()) },
	"module":    func(r *rig) http.Handler { return r.serve(r.module()) },
	"edge":      atTheEdge,
}

// eachBackend runs a test on every backend.
func eachBackend(t *testing.T, test func(r *rig)) {
	for name, open := range behind {
		t.Run(name, func(t *testing.T) { test(newRig(t, open)) })
	}
}

func newRig(t *testing.T, open func(*rig) http.Handler) *rig {
	r := &rig{T: t, source: memory.New()}
	r.handler = open(r)
	server := httptest.NewServer(r)
	r.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return r
}

// serve returns a handler of the Kubernetes API for a backend. It stops the handler when
// the test ends.
func (r *rig) serve(b serving.Backend) http.Handler {
	handler := serving.New(serving.Config{Backend: b})
	r.Cleanup(handler.Stop)
	return handler
}

// connector returns a connector whose history is so short that watches expire.
func (r *rig) connector() *connector.Connector {
	c := connector.New(connector.Config{
		Source: r.source, Logger: slog.New(slog.DiscardHandler),
		History: history.Limits{MinCapacity: 50, MaxCapacity: 200, WindowMillis: 500},
	})
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(r, c.Close(ctx))
	})
	return c
}

func (r *rig) module() serving.Backend {
	b := backend.New(modules.Client(r.T, r.connector()), catalog.All())
	r.Cleanup(func() { require.NoError(r, b.Close()) })
	return b
}

// ServeHTTP records the request. While rough is set, it delays watches and ends them
// early, either cleanly or in the middle of a frame.
func (r *rig) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.requests = append(r.requests, request.URL.RequestURI())
	r.mu.Unlock()
	if !r.rough.Load() || !strings.Contains(request.URL.RawQuery, "watch=") {
		r.handler.ServeHTTP(w, request)
		return
	}
	if r.watches.Add(1)%4 == 0 {
		time.Sleep(1500 * time.Millisecond) // long enough for the history to evict the version of the request
	}
	ctx, cancel := context.WithTimeout(request.Context(), time.Duration(50+rand.IntN(1500))*time.Millisecond)
	defer cancel()
	r.handler.ServeHTTP(tapped{w, &r.expired}, request.WithContext(ctx))
	if rand.IntN(2) == 0 {
		io.WriteString(w, `{"type":"MODIFIED","object":{"kind":`)
		panic(http.ErrAbortHandler)
	}
}

// tapped is a ResponseWriter that counts the frames with a 410.
type tapped struct {
	http.ResponseWriter
	expired *atomic.Int64
}

func (t tapped) Write(frames []byte) (int, error) {
	if bytes.Contains(frames, []byte(`"code":410}`)) {
		t.expired.Add(1)
	}
	return t.ResponseWriter.Write(frames)
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (t tapped) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// asked returns the requests since the last call.
func (r *rig) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.requests
	r.requests = nil
	return asked
}

func (r *rig) config() *rest.Config {
	return &rest.Config{Host: r.url, QPS: -1, ContentConfig: rest.ContentConfig{
		AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
	}}
}

// write puts an object, or deletes it if value is nil.
func (r *rig) write(resource api.Resource, key api.Key, value []byte) api.ResourceVersion {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.source.Revision()
	rv, err := r.source.Txn(context.Background(), source.Write{Resource: resource, Key: key, Value: value})
	require.NoError(r, err)
	if rv != before {
		r.log = append(r.log, write{resource, key, rv, value})
	}
	return rv
}

// state returns the objects of a resource at a version.
func (r *rig) state(resource api.Resource, rv api.ResourceVersion) map[api.Key]write {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := map[api.Key]write{}
	for _, w := range r.log {
		if w.resource != resource || w.rv > rv {
			continue
		}
		if state[w.key] = w; w.value == nil {
			delete(state, w.key)
		}
	}
	return state
}

// now returns the current objects of a resource.
func (r *rig) now(resource api.Resource) map[api.Key]write {
	return r.state(resource, r.source.Revision())
}

// object returns a realistic object. Each n results in a different object.
func object(resource api.Resource, key api.Key, n int) []byte {
	meta := fmt.Sprintf(`"metadata":{"name":%q,"uid":"uid-%s","labels":{"app":"app-%d","parity":"%d"},"annotations":{"n":"%d","text":"<&>\u2028 \"quoted\""}`,
		key.Name(), key, n%7, n%2, n)
	if key.Namespace() != "" {
		meta += fmt.Sprintf(`,"namespace":%q`, key.Namespace())
	}
	meta += `,"creationTimestamp":"2026-01-02T03:04:05Z"}`
	switch resource {
	case pods:
		return fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1",%s,"spec":{"nodeName":"node-%d","containers":[{"name":"main","image":"registry.example.com/app:%d"}]},"status":{"phase":%q}}`,
			meta, n%3, n, []string{"Pending", "Running"}[n%2])
	case nodes:
		return fmt.Appendf(nil, `{"kind":"Node","apiVersion":"v1",%s,"spec":{"unschedulable":%t},"status":{"nodeInfo":{"kubeletVersion":"v1.%d.0"}}}`, meta, n%2 == 0, n)
	case deployments:
		return fmt.Appendf(nil, `{"kind":"Deployment","apiVersion":"apps/v1",%s,"spec":{"replicas":%d,"selector":{"matchLabels":{"a":"b"}}},"status":{"observedGeneration":%d}}`, meta, n%5, n)
	}
	return fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1",%s,"data":{"n":"%d"}}`, meta, n)
}

// churn makes random writes for the duration in CONFORMANCE_CHURN, or for five seconds.
// Meanwhile, the source fails and compacts, and connections break.
func (r *rig) churn(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	length, err := time.ParseDuration(os.Getenv("CONFORMANCE_CHURN"))
	if err != nil {
		length = 5 * time.Second
	}
	r.rough.Store(true)
	defer r.rough.Store(false)
	end := time.Now().Add(length)
	for n := 0; time.Now().Before(end); n++ {
		r.change(random, n)
		switch {
		case n%5000 == 4999:
			require.NoError(r, r.source.Compact(r.source.Revision()))
			r.source.Fail(errors.New("the connection to the source broke"))
		case n%100 == 99:
			r.source.Progress()
		}
		if n%20 == 0 {
			time.Sleep(5 * time.Millisecond) // about two thousand changes per second
		}
	}
}

func (r *rig) change(random *rand.Rand, n int) {
	resource := []api.Resource{pods, pods, pods, configMaps, deployments, nodes}[random.IntN(6)]
	key := api.Key(fmt.Sprintf("ns-%d/object-%d", random.IntN(4), random.IntN(100)))
	if resource == nodes {
		key = api.Key(fmt.Sprintf("node-%d", random.IntN(50)))
	}
	if random.IntN(5) == 0 {
		r.write(resource, key, nil)
		return
	}
	r.write(resource, key, object(resource, key, n))
}
