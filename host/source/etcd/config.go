package etcd

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
)

const (
	// DefaultPrefix is the prefix under which Kubernetes stores its objects.
	DefaultPrefix = "/registry"
	// DefaultPageSize results in pages of a few megabytes for objects of a few
	// kilobytes.
	DefaultPageSize = 500
	// DefaultProgressInterval tolerates one lost response within the ten seconds in which
	// readers expect progress.
	DefaultProgressInterval = 3 * time.Second
	// DefaultRequestTimeout applies to each request, such as one page of a list.
	DefaultRequestTimeout = 30 * time.Second
	// DefaultConnectTimeout is shorter than the time without progress after which readers
	// report stale data.
	DefaultConnectTimeout = 5 * time.Second
)

// Config configures a Source or a Writer. It contains the location of the objects in
// etcd, and the limits of requests. The zero value is ready to use.
type Config struct {
	// Prefix is the common prefix of all keys. Empty means DefaultPrefix.
	Prefix string
	// Resources are the served resources. Empty means catalog.All.
	Resources []api.Schema
	// Paths contains the paths, below Prefix, of the resources whose path is not
	// "<resource>" (core group) or "<group>/<resource>". Nil means KubernetesPaths.
	Paths map[api.Resource]string
	// PageSize is the number of objects per page of a list. Larger pages need more
	// memory and fewer round trips. Zero means DefaultPageSize.
	PageSize int
	// ProgressInterval is the time between requests for progress. Zero means
	// DefaultProgressInterval. A negative interval disables these requests, for gRPC
	// proxies that do not respond to them. Progress then arrives at etcd's own interval,
	// by default every ten minutes, and a dead connection is not detected.
	ProgressInterval time.Duration
	// RequestTimeout limits each request, such as one page of a list. Zero means
	// DefaultRequestTimeout.
	RequestTimeout time.Duration
	// ConnectTimeout limits how long a request waits for a connection to etcd, before it
	// is sent or after the connection was lost. Zero means DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Logger receives a warning about each key that is skipped. Nil means slog.Default.
	Logger *slog.Logger
}

// withDefaults validates c and sets the defaults.
func (c Config) withDefaults() (Config, error) {
	if c.PageSize < 0 || c.RequestTimeout < 0 || c.ConnectTimeout < 0 {
		return c, fmt.Errorf("etcd source: page size %d, request timeout %v and connect timeout %v must not be negative", c.PageSize, c.RequestTimeout, c.ConnectTimeout)
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	c.Prefix = strings.TrimRight(c.Prefix, "/")
	if len(c.Resources) == 0 {
		c.Resources = catalog.All()
	}
	if c.Paths == nil {
		c.Paths = KubernetesPaths()
	}
	if c.PageSize == 0 {
		c.PageSize = DefaultPageSize
	}
	if c.ProgressInterval == 0 {
		c.ProgressInterval = DefaultProgressInterval
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = DefaultRequestTimeout
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = DefaultConnectTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}
