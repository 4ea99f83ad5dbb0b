package kubeapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

var (
	pods  = api.Resource{Version: "v1", Name: "pods"}
	nodes = api.Resource{Version: "v1", Name: "nodes"}
)

// world serves the API from a connector with a memory source. An HTTP server and a client
// are connected by pipes. Everything runs inside a synctest bubble: time is virtual, and a
// leaked goroutine fails the test.
type world struct {
	t       *testing.T
	source  *flaky
	backend kubeapi.Backend
	handler *kubeapi.Handler
	client  *http.Client
	header  http.Header // added to every request
}

func run(t *testing.T, config kubeapi.Config, f func(t *testing.T, w *world)) {
	runOn(t, connector.Config{}, config, f)
}

func runOn(t *testing.T, below connector.Config, config kubeapi.Config, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, source: &flaky{Source: memory.New()}, header: http.Header{}}
		below.Source, below.Logger = w.source, slog.New(slog.DiscardHandler)
		c := connector.New(below)
		w.backend = c.Backend()
		if config.Backend == nil {
			config.Backend = w.backend
		}
		w.handler = kubeapi.New(config)
		pipes := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: w.handler, WriteTimeout: time.Second} // short, so that a test fails if this timeout applies to watches
		served := make(chan error, 1)
		go func() { served <- server.Serve(pipes) }()
		transport := &http.Transport{DialContext: pipes.dial, DisableCompression: true}
		w.client = &http.Client{Transport: transport}

		defer func() {
			w.handler.Stop()
			transport.CloseIdleConnections()
			assert.NoError(t, server.Shutdown(context.Background()))
			assert.ErrorIs(t, <-served, http.ErrServerClosed)
			assert.NoError(t, c.Close(context.Background()))
		}()
		f(t, w)
	})
}

// flaky is a source that a test can stall, or replace with a source that has another
// history. Streams that are already open continue unchanged.
type flaky struct {
	*memory.Source
	stalled bool
}

func (f *flaky) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	if f.stalled {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.Source.Stream(ctx, resource, from, sink)
}

// listener is a net.Listener whose connections are in-memory pipes.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	close(l.closed)
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// put writes a pod with the label app=APP.
func (w *world) put(key api.Key, app string) api.ResourceVersion {
	return w.source.Put(pods, key, fmt.Appendf(nil,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":"u-%s","labels":{"app":%q},`+
			`"annotations":{"note":"x"},"creationTimestamp":"1999-12-31T14:00:00Z"},"spec":{"nodeName":"n1"},"status":{"phase":"Running"}}`,
		key.Name(), key.Namespace(), key.Name(), app))
}

// answer is a response whose body has been read.
type answer struct {
	*http.Response
	text string
}

func (w *world) request(method, path string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://cluster"+path, nil)
	require.NoError(w.t, err)
	r.Header = w.header.Clone()
	response, err := w.client.Do(r)
	require.NoError(w.t, err)
	return response
}

// do waits until the connector has processed all earlier writes, then sends a request and
// reads the response.
func (w *world) do(method, path string) answer {
	w.t.Helper()
	synctest.Wait()
	response := w.request(method, path)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return answer{response, string(text)}
}

func (w *world) get(path string) answer {
	w.t.Helper()
	return w.do(http.MethodGet, path)
}

// decode parses a JSON document.
func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var document map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &document), text)
	return document
}

// encode formats a JSON value.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// requireStatus requires that a response is a v1 Status with the given code and reason,
// and returns the decoded Status.
func requireStatus(t *testing.T, a answer, code int, reason string) map[string]any {
	t.Helper()
	require.Equal(t, code, a.StatusCode, a.text)
	require.Equal(t, "application/json", a.Header.Get("Content-Type"))
	status := decode(t, a.text)
	assert.Equal(t, "Status", status["kind"])
	assert.Equal(t, "v1", status["apiVersion"])
	assert.Equal(t, "Failure", status["status"])
	assert.Equal(t, reason, status["reason"])
	assert.EqualValues(t, code, status["code"])
	assert.NotEmpty(t, status["message"])
	return status
}

// names returns the item names of a list in order, separated by spaces.
func names(t *testing.T, a answer) string {
	t.Helper()
	require.Equal(t, 200, a.StatusCode, a.text)
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal([]byte(a.text), &list))
	require.NotNil(t, list.Items, "items must be an array")
	var all []string
	for _, i := range list.Items {
		all = append(all, i.Metadata.Name)
	}
	return strings.Join(all, " ")
}

// watching is an open watch with a decoder for its events.
type watching struct {
	t        *testing.T
	response *http.Response
	decoder  *json.Decoder
}

// frame is one event of a watch.
type frame struct {
	Type   string
	Object map[string]any
}

func (w *world) watch(path string) *watching {
	w.t.Helper()
	response := w.request(http.MethodGet, path)
	if response.StatusCode != 200 {
		text, _ := io.ReadAll(response.Body)
		require.Equal(w.t, 200, response.StatusCode, string(text))
	}
	return &watching{w.t, response, json.NewDecoder(response.Body)}
}

func (w *watching) next() frame {
	w.t.Helper()
	var f frame
	require.NoError(w.t, w.decoder.Decode(&f))
	return f
}

// formatNext waits for the next event and formats it.
func (w *watching) formatNext() string {
	w.t.Helper()
	return format(w.next())
}

func format(f frame) string {
	if f.Type == "ERROR" {
		return fmt.Sprintf("ERROR %v %v", f.Object["code"], f.Object["reason"])
	}
	metadata, _ := f.Object["metadata"].(map[string]any)
	if f.Type == "BOOKMARK" {
		end := ""
		if annotations, ok := metadata["annotations"].(map[string]any); ok && annotations["k8s.io/initial-events-end"] == "true" {
			end = " end"
		}
		return fmt.Sprintf("BOOKMARK %v%s", metadata["resourceVersion"], end)
	}
	return fmt.Sprintf("%s %v %v", f.Type, metadata["name"], metadata["resourceVersion"])
}

// ends requires that the stream ends cleanly, without further output.
func (w *watching) ends() {
	w.t.Helper()
	var f frame
	err := w.decoder.Decode(&f)
	if !errors.Is(err, io.EOF) {
		require.Failf(w.t, "the stream continues", "%v %v", f, err)
	}
}

// close closes the response. Since Go 1.27, closing a response body first reads the rest of
// the body for up to 50 ms, here of virtual time.
func (w *watching) close() {
	w.response.Body.Close()
	time.Sleep(100 * time.Millisecond)
}
