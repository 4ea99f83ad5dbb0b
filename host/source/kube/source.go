package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// Source reads a kube-apiserver. It is safe for concurrent use.
type Source struct {
	config Config
	client atomic.Pointer[http.Client]
	// anonymous connects to the same server without the credentials of the Source. The
	// Source uses this client for requests that contain the token of a reader.
	anonymous atomic.Pointer[http.Client]
	base      *url.URL
	catalog   *directory
	failures  *rate.Limiter // limits log lines about reviews that failed
	// metricsIdentity is the suffix of the cluster ID of metrics. No other process has
	// the same suffix.
	metricsIdentity string

	mu     sync.Mutex
	memory map[api.Resource]*memory
}

var (
	_ source.Source     = (*Source)(nil)
	_ source.Identifier = (*Source)(nil)
)

// These constants limit the log lines about failed reviews, because clients can cause
// failures.
const (
	failuresPerSecond = 1
	failuresAtOnce    = 10
)

// New returns a source without connecting to the server. Close the source after all
// Streams have ended.
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
	anonymous, err := anonymousClient(config.REST)
	if err != nil {
		return nil, fmt.Errorf("kube source: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config.REST)
	if err != nil {
		return nil, fmt.Errorf("kube source: address %q: %w", config.REST.Host, err)
	}
	s := &Source{config: config, base: base, memory: map[api.Resource]*memory{}, metricsIdentity: newMetricsIdentity()}
	s.client.Store(client)
	s.anonymous.Store(anonymous)
	s.failures = rate.NewLimiter(failuresPerSecond, failuresAtOnce)
	s.catalog = &directory{source: s, misses: rate.NewLimiter(missesPerSecond, missesAtOnce)}
	return s, nil
}

// Close closes idle connections.
func (s *Source) Close() {
	s.client.Load().CloseIdleConnections()
	s.anonymous.Load().CloseIdleConnections()
}

// Host returns the server's address, for messages.
func (s *Source) Host() string { return s.base.Host }

// Ready implements source.Prober. It returns an error if the server is unreachable or
// rejects the credentials.
func (s *Source) Ready(ctx context.Context) error {
	var version struct{}
	return s.getJSON(ctx, "/version", &version)
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
	cluster, err := s.ClusterID(ctx)
	if err != nil {
		return err
	}
	if polled := metricsSchema(resource); polled != nil {
		return s.poll(ctx, polled, cluster, from, sink)
	}
	if err := sink.Identify(cluster); err != nil {
		return err
	}
	return s.newStream(found, sink, cluster).run(ctx, from)
}

// ClusterID implements source.Identifier.
func (s *Source) ClusterID(ctx context.Context) (string, error) {
	var namespace struct{ Metadata struct{ UID string } }
	err := s.getJSON(ctx, "/api/v1/namespaces/kube-system", &namespace)
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
