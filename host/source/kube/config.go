package kube

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// DefaultPageSize is the page size of client-go (rule R2).
	DefaultPageSize = 500
	// DefaultWatchTimeout makes a stream report progress at least every ten seconds.
	DefaultWatchTimeout = 9 * time.Second
	// DefaultRequestTimeout applies to requests other than lists and watches.
	DefaultRequestTimeout = 15 * time.Second
	// DefaultPatience is the default of Config.Patience.
	DefaultPatience = 15 * time.Second
	// DefaultDiscoveryTTL is how long discovery results are cached.
	DefaultDiscoveryTTL = 30 * time.Second
)

// Config configures a source. REST is required. For every other field, zero selects the
// default.
type Config struct {
	// REST contains the address and the credentials, from [Load] or from client-go. The
	// source does not modify it.
	REST *rest.Config
	// PageSize is the number of objects per page, if a stream lists in pages.
	PageSize int
	// PagedLists makes streams list in pages even if the server supports watch lists
	// (watches with initial events).
	PagedLists bool
	// WatchTimeout is the duration of one watch, which must be at least four seconds. The
	// source rounds it down to whole seconds. A stream reports progress about once per
	// watch.
	WatchTimeout time.Duration
	// RequestTimeout limits requests other than lists and watches.
	RequestTimeout time.Duration
	// Patience limits the wait for the next bytes of a list, and for the end of a watch
	// after WatchTimeout.
	Patience time.Duration
	// DiscoveryTTL is how long discovery results are cached.
	DiscoveryTTL time.Duration
	// MetricsInterval is the mean time between two lists of a resource of metrics.k8s.io,
	// which cannot be watched. The source lists such a resource only while a stream of it
	// runs. A negative interval disables these resources.
	MetricsInterval time.Duration
	// Logger receives warnings, for example about objects and columns that are skipped.
	// Nil means slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.REST == nil {
		return c, errors.New("kube source: Config.REST is missing: use Load to create it")
	}
	if c.PageSize < 0 || c.RequestTimeout < 0 || c.Patience < 0 || c.DiscoveryTTL < 0 {
		return c, fmt.Errorf("kube source: page size %d, request timeout %v, patience %v and discovery TTL %v must not be negative",
			c.PageSize, c.RequestTimeout, c.Patience, c.DiscoveryTTL)
	}
	setDefault(&c.PageSize, DefaultPageSize)
	setDefault(&c.WatchTimeout, DefaultWatchTimeout)
	setDefault(&c.RequestTimeout, DefaultRequestTimeout)
	setDefault(&c.Patience, DefaultPatience)
	setDefault(&c.DiscoveryTTL, DefaultDiscoveryTTL)
	setDefault(&c.MetricsInterval, DefaultMetricsInterval)
	if c.MetricsInterval > 0 && (c.MetricsInterval < MinMetricsInterval || c.MetricsInterval > MaxMetricsInterval) {
		return c, fmt.Errorf("kube source: metrics interval %v: expected %v to %v, or a negative value for no metrics",
			c.MetricsInterval, MinMetricsInterval, MaxMetricsInterval)
	}
	if c.WatchTimeout < 4*time.Second {
		return c, fmt.Errorf("kube source: watch timeout %v: expected 4s or more, because a server sends its bookmark two seconds before the end", c.WatchTimeout)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
