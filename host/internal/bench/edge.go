package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/workerd"
	"github.com/watchglass/watchglass/host/push"
	"github.com/watchglass/watchglass/host/source"
)

// These constants are tokens for the worker in js/bench/edge. That worker accepts unsigned
// claims as plain text.
const (
	grant     = `{"resources":["*"],"namespaces":["*"],"expires":4000000000,"cluster":"bench","user":"bench"}`
	feedGrant = `{"resources":["*"],"namespaces":["*"],"expires":4000000000,"cluster":"bench","user":"bench","feed":true}`
)

// edge is a simulated cluster with its connector, and Cloudflare's runtime with the Durable
// Objects that the connector feeds.
type edge struct {
	world     *world
	connector *connector.Connector
	runtime   *workerd.Process
	json      int // size in bytes of the JSON of all listed Kubernetes objects
	cancel    context.CancelFunc
	keys      []api.Key // sorted; objects change in this order
	changed   int
	lost      chan error // receives the error of the first reader that is disconnected
}

// lose records the error of a disconnected reader, which fails the measurement.
func (e *edge) lose(err error) {
	select {
	case e.lost <- err:
	default:
	}
}

func startEdge(ctx context.Context, b *bench, objects int) (*edge, error) {
	binary, err := workerd.Find(".")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "objects-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	e := &edge{cancel: cancel, lost: make(chan error, 1)}
	e.runtime, err = workerd.Start(ctx, workerd.Config{
		Binary: binary, Path: "js/bench/edge/config.capnp", Flags: []string{"--directory-path=objects=" + dir},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	if e.world, err = newWorld(pods, clustersim.Config{Pods: objects}); err == nil {
		e.world.tap = func(t api.EventType, c source.Change) {
			if t == api.Added {
				e.json += len(c.Value)
			}
		}
		e.connector = connector.New(connector.Config{Source: e.world, Logger: slog.New(slog.DiscardHandler)})
		e.world.revise = func(_, _ []byte) []byte { return nil } // the benchmark makes all changes explicitly
		_, err = e.connector.Hold(ctx, pods)
	}
	if err != nil {
		e.close()
	}
	return e, err
}

// change makes n changes and passes them to the connector as one batch. Each change
// toggles the readiness of a container in the next pod.
func (e *edge) change(ctx context.Context, n int) error {
	if e.keys == nil {
		e.keys = slices.Sorted(maps.Keys(e.world.latest))
	}
	for range n {
		key := e.keys[e.changed%len(e.keys)]
		e.changed++
		was := e.world.latest[key]
		is := bytes.Replace(was, []byte(`"ready":true`), []byte(`"ready":false`), 1)
		if bytes.Equal(is, was) {
			is = bytes.Replace(was, []byte(`"ready":false`), []byte(`"ready":true`), 1)
		}
		e.world.latest[key] = is
		e.world.change(key, is)
	}
	return e.world.hand(ctx, n)
}

func (e *edge) close() {
	e.cancel()
	if e.connector != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		e.connector.Close(ctx) // also ends the connections that are still open
	}
	e.runtime.Stop()
}

func (e *edge) url(scheme, object, path string) string {
	return scheme + "://" + e.runtime.Address() + "/" + object + "/" + path
}

// feed makes the connector feed a Durable Object until ctx is done.
func (e *edge) feed(ctx context.Context, object string) error {
	p, err := push.New(push.Config{
		Connector: e.connector, URL: e.url("ws", object, "feed"), Resources: []api.Resource{pods},
		ClusterID: func(context.Context) (string, error) { return "bench", nil },
		Token:     func() (string, error) { return feedGrant, nil },
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err == nil {
		go p.Run(ctx) // ends with ctx
	}
	return err
}

// objectStatus contains the fields of a Durable Object's status that the benchmark uses.
type objectStatus struct {
	AwakeSince int64 // milliseconds since the epoch
	Resources  map[string]struct {
		State           string
		ResourceVersion string
		Stored          *struct{ ResourceVersion string }
	}
	Storage struct{ Bytes int }
}

// until polls the status of a Durable Object until wanted returns true, and returns that status.
func (e *edge) until(ctx context.Context, object string, every time.Duration, wanted func(*objectStatus) bool) (*objectStatus, error) {
	for {
		status, err := e.status(ctx, object)
		if err != nil || wanted(status) {
			return status, err
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (e *edge) status(ctx context.Context, object string) (*objectStatus, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url("http", object, "status"), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+grant)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("object %s answers %s", object, resp.Status)
	}
	var status objectStatus
	return &status, json.NewDecoder(resp.Body).Decode(&status)
}

// live returns a condition for until: the object is live and has received all changes up to
// a resource version.
func live(rv api.ResourceVersion) func(*objectStatus) bool {
	return func(s *objectStatus) bool {
		pods := s.Resources["v1/pods"]
		has, err := api.ParseResourceVersion(pods.ResourceVersion)
		return pods.State == "live" && err == nil && has >= rv
	}
}

// dial connects a WebSocket to a Durable Object.
func (e *edge) dial(ctx context.Context, object, path string) (*websocket.Conn, error) {
	ws, _, err := websocket.Dial(ctx, e.url("ws", object, path), &websocket.DialOptions{
		Subprotocols: []string{wire.Subprotocol}, HTTPHeader: http.Header{"Authorization": {"Bearer " + grant}},
	})
	if err == nil {
		ws.SetReadLimit(wire.MaxMessage)
	}
	return ws, err
}

// cpu returns the processor time of the runtime.
func (e *edge) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.runtime.Pid()))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	const perTick = 10 * time.Millisecond // USER_HZ is 100 on all common Linux systems
	return time.Duration(ticks) * perTick, nil
}
