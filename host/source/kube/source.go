package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/host/source"
)

// Source reads a kube-apiserver. It is safe for concurrent use.
type Source struct {
	config  Config
	client  atomic.Pointer[http.Client]
	base    *url.URL
	catalog *directory

	mu     sync.Mutex
	memory map[api.Resource]*memory
}

// memory is the state of a resource that outlives its streams.
type memory struct {
	cluster string
	// newest is the last delivered version. No list may be older.
	newest api.ResourceVersion
	// classic means that the server does not support initial events of watches.
	classic bool
	// failing is the time of the first internal error without a success since.
	failing time.Time
}

var (
	_ source.Source     = (*Source)(nil)
	_ source.Identifier = (*Source)(nil)
)

// New returns a source. It does not connect yet. Close it after all Streams have
// ended.
func New(config Config) (*Source, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config.REST)
	if err != nil {
		return nil, fmt.Errorf("kube source: %w", err)
	}
	client.Timeout = 0 // watches have no timeout; other requests have their own
	base, _, err := rest.DefaultServerUrlFor(config.REST)
	if err != nil {
		return nil, fmt.Errorf("kube source: address %q: %w", config.REST.Host, err)
	}
	s := &Source{config: config, base: base, memory: map[api.Resource]*memory{}}
	s.client.Store(client)
	s.catalog = &directory{source: s, misses: rate.NewLimiter(missesPerSecond, missesAtOnce)}
	return s, nil
}

// Close ends idle connections.
func (s *Source) Close() { s.client.Load().CloseIdleConnections() }

// Host returns the server's address, for messages.
func (s *Source) Host() string { return s.base.Host }

// Ready checks that the server is reachable and accepts the credentials.
func (s *Source) Ready(ctx context.Context) error {
	var version struct{}
	return s.getJSON(ctx, "/version", nil, &version)
}

// Stream implements source.Source.
func (s *Source) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	err := s.stream(ctx, resource, from, sink)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (s *Source) stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	found, err := s.catalog.find(ctx, resource)
	if err != nil {
		return err
	}
	cluster, err := s.Identity(ctx)
	if err != nil {
		return err
	}
	if err := sink.Identify(cluster); err != nil {
		return err
	}
	scanner, err := objectjson.NewScanner(&api.Schema{Fields: identityFields})
	if err != nil {
		return err
	}
	st := &stream{
		Source: s, resource: found, sink: sink, at: from, memory: s.remember(resource, cluster),
		identity: identity{scanner: scanner, apiVersion: resource.APIVersion(), kind: found.Kind},
	}
	if from == 0 {
		err = st.list(ctx)
	} else {
		err = st.checkResume(ctx)
	}
	if err == nil {
		err = st.watch(ctx)
	}
	return st.judge(err)
}

func (s *Source) remember(resource api.Resource, cluster string) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.memory[resource]
	if m == nil || m.cluster != cluster {
		m = &memory{cluster: cluster, classic: s.config.PagedLists}
		s.memory[resource] = m
	}
	return m
}

// Identity implements source.Identifier. It returns the ID of the history that
// resource versions belong to.
func (s *Source) Identity(ctx context.Context) (string, error) {
	var namespace struct{ Metadata struct{ UID string } }
	err := s.getJSON(ctx, "/api/v1/namespaces/kube-system", nil, &namespace)
	var status *api.Status
	switch {
	case errors.As(err, &status) && (status.Code == http.StatusForbidden || status.Code == http.StatusNotFound):
		return "kube-" + s.base.Host, nil
	case err != nil:
		return "", err
	case namespace.Metadata.UID == "":
		return "kube-" + s.base.Host, nil
	}
	return "kube-" + namespace.Metadata.UID, nil
}

// stream is one running Stream.
type stream struct {
	*Source
	resource *resource
	sink     source.Sink
	at       api.ResourceVersion // everything up to this version was delivered
	floor    api.ResourceVersion // minimum version of a list
	memory   *memory             // guarded by Source.mu
	identity identity
}

func (st *stream) update(f func(*memory)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	f(st.memory)
}

// advance records the delivered version, which also ends a series of failures.
func (st *stream) advance(rv api.ResourceVersion) {
	st.at = max(st.at, rv)
	st.update(func(m *memory) {
		m.newest = max(m.newest, st.at)
		m.failing = time.Time{}
	})
}

// retryWindow is how long the source retries a watch from the same version after
// internal errors (rule C4).
const retryWindow = 30 * time.Second

// judge returns a 410 for an error that only a new list can end: a server whose
// watch keeps failing internally (rule R9), or which cannot read its storage.
func (st *stream) judge(err error) error {
	var status *api.Status
	if !errors.As(err, &status) || status.Code != http.StatusInternalServerError {
		return err
	}
	relist := status.Reason == reasonStorageRead
	st.update(func(m *memory) {
		now := time.Now()
		if m.failing.IsZero() {
			m.failing = now
		}
		if now.Sub(m.failing) > retryWindow {
			relist, m.failing = true, time.Time{}
		}
	})
	if relist && st.at != 0 {
		return api.Expired("list " + st.resource.String() + " anew: " + status.Message)
	}
	return err
}

// about returns the current operation, for messages.
func (st *stream) about(doing string) string {
	return "kube-apiserver " + st.base.Host + ": " + doing + " of " + st.resource.String()
}
