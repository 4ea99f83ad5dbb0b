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
	// DefaultProgressInterval is short, so that readers receive progress within ten
	// seconds even if one response is lost.
	DefaultProgressInterval = 3 * time.Second
	// DefaultRequestTimeout limits each request, such as one page of a list.
	DefaultRequestTimeout = 30 * time.Second
	// DefaultConnectTimeout is short, so that a request fails before readers report stale
	// data for lack of progress.
	DefaultConnectTimeout = 5 * time.Second
)

// Config configures a Source or a Writer. It contains the location of the objects in
// etcd, and the limits of requests. The zero value is ready to use.
type Config struct {
	// Prefix is the common prefix of all keys. Empty means DefaultPrefix.
	Prefix string
	// Resources are the resources that the source serves. Empty means catalog.All.
	Resources []api.Schema
	// Paths maps resources to their paths below Prefix. A resource without an entry has
	// the path "<resource>" (core group) or "<group>/<resource>". Nil means
	// KubernetesPaths.
	Paths map[api.Resource]string
	// PageSize is the number of objects per page of a list. Larger pages need more
	// memory and fewer round trips. Zero means DefaultPageSize.
	PageSize int
	// ProgressInterval is the time between requests for progress. Zero means
	// DefaultProgressInterval. A negative interval disables these requests, for gRPC
	// proxies that do not respond to them. Progress then arrives only at etcd's own
	// interval, by default every ten minutes, and the source does not detect a dead
	// connection.
	ProgressInterval time.Duration
	// RequestTimeout limits each request, such as one page of a list. Zero means
	// DefaultRequestTimeout.
	RequestTimeout time.Duration
	// ConnectTimeout limits how long a request waits for a connection to etcd, both
	// before the request is sent and after the connection is lost. Zero means
	// DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Logger receives a warning about each key that is skipped. Nil means slog.Default.
	Logger *slog.Logger
}

// withDefaults returns c with its defaults, or an error if a field is invalid.
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
