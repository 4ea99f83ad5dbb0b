package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/edge"
)

// within limits every wait of a test. The limit is long enough for a loaded machine, so
// only a failing test reaches it.
const within = 2 * time.Minute

// rig is a complete edge whose cluster changes only when a test changes it.
type rig struct {
	*testing.T
	*demo
}

func start(t *testing.T, pods int) *rig {
	t.Helper()
	return startDivided(t, pods, "")
}

// startDivided starts an edge with the given configuration of clusters.
func startDivided(t *testing.T, pods int, clusters string) *rig {
	t.Helper()
	return startPrepared(t, pods, clusters, func(*rig) {})
}

// startPrepared starts an edge. It calls prepare before the connector reads the cluster.
func startPrepared(t *testing.T, pods int, clusters string, prepare func(*rig)) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: runs an edge, with etcd and workerd")
	}
	const root = "../../.."
	_, err := os.Stat(root + "/examples/edge/dist/worker.js")
	require.NoError(t, err, `build the worker first: "make worker dashboard"`)
	d, err := open(t.Context(), config{root: root, listen: "127.0.0.1:0", secure: "127.0.0.1:0", pods: pods, clusters: clusters})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.close()) })
	r := &rig{t, d}
	prepare(r)
	ctx, stop := context.WithCancel(context.Background())
	fed := make(chan error, 1)
	go func() { fed <- d.feed(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-fed)
	})
	bounded, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	require.NoError(t, ready(bounded, r.url("/readyz"), r.everything()))
	return r
}

func (r *rig) url(path string) string { return "http://" + r.runtime.Address() + path }

// sign returns a signed token. The function change edits the default claims.
func (r *rig) sign(change func(*token.Claims)) string {
	r.Helper()
	now := time.Now()
	c := token.Claims{
		User: "test", Cluster: edge.DefaultCluster, Resources: []string{token.Any}, Namespaces: []string{token.Any}, Expires: now.Add(time.Hour),
	}
	change(&c)
	text, err := r.keys.Sign(c, now)
	require.NoError(r, err)
	return text
}

func (r *rig) everything() string { return r.sign(func(*token.Claims) {}) }

// ask sends a request and checks the security headers of the response. The request
// headers are given as pairs of name and value. The caller must close the body.
func (r *rig) ask(method, path, bearer string, headers ...string) *http.Response {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, r.url(path), nil)
	require.NoError(r, err)
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(r, err)
	assert.Equal(r, "nosniff", response.Header.Get("X-Content-Type-Options"), path)
	assert.Equal(r, "same-origin", response.Header.Get("Cross-Origin-Resource-Policy"), path)
	return response
}

// get sends a GET and returns the code and the body of the response.
func (r *rig) get(path, bearer string, headers ...string) (code int, body []byte) {
	r.Helper()
	response := r.ask(http.MethodGet, path, bearer, headers...)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(r, err)
	return response.StatusCode, body
}

// list contains the fields of a list, a Table or a Status that the tests use.
type list struct {
	Kind     string
	Metadata struct {
		ResourceVersion, Continue string
		RemainingItemCount        int
	}
	Items []struct{ Metadata meta }
	Rows  []struct{ Cells []any }

	Reason  string
	Message string
	Code    int
}

type meta struct{ Name, Namespace, ResourceVersion string }

func (r *rig) list(path string, headers ...string) *list {
	r.Helper()
	_, body := r.get(path, r.everything(), headers...)
	var l list
	require.NoError(r, json.Unmarshal(body, &l), string(body))
	return &l
}

// watch is the event stream of a watch.
type watch struct {
	*rig
	lines *bufio.Scanner
}

func (r *rig) watch(path, bearer string) *watch {
	r.Helper()
	response := r.ask(http.MethodGet, path, bearer)
	r.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(r, http.StatusOK, response.StatusCode)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &watch{r, lines}
}

// event is one event of a watch.
type event struct {
	Type   string
	Object struct {
		Metadata meta
		Code     int
		Message  string
	}
}

// next waits for the next event. It returns the zero event at the end of the stream.
func (w *watch) next() event {
	w.Helper()
	if !w.lines.Scan() {
		require.NoError(w, w.lines.Err())
		return event{}
	}
	var e event
	require.NoError(w, json.Unmarshal(w.lines.Bytes(), &e), w.lines.Text())
	return e
}

// change runs steps of the simulation that make about twenty changes in etcd.
func (r *rig) change() {
	r.Helper()
	for changed := 0; changed < 20; {
		n, err := r.cluster.Step(r.Context())
		require.NoError(r, err)
		changed += max(n, 1)
	}
}
