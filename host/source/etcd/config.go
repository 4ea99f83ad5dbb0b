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
	// DefaultPrefix is where Kubernetes keeps its objects.
	DefaultPrefix = "/registry"
	// DefaultPageSize makes pages of a few megabytes out of objects of a few
	// kilobytes.
	DefaultPageSize = 500
	// DefaultProgressInterval leaves room for a lost answer within the ten
	// seconds in which readers expect progress.
	DefaultProgressInterval = 3 * time.Second
	// DefaultRequestTimeout is for one page of a list.
	DefaultRequestTimeout = 30 * time.Second
)

// Config says where in etcd the objects are. The zero value is ready to use.
type Config struct {
	// Prefix is what all keys begin with. Empty means DefaultPrefix.
	Prefix string
	// Resources are what is served. Empty means catalog.All.
	Resources []api.Schema
	// Paths says below which path under Prefix a resource lies, when that is
	// not "<resource>" (core group) or "<group>/<resource>". Nil means
	// KubernetesPaths.
	Paths map[api.Resource]string
	// PageSize is the number of objects a list asks for at once: memory
	// against round trips. Zero means DefaultPageSize.
	PageSize int
	// ProgressInterval is how often to ask etcd for progress. Zero means
	// DefaultProgressInterval. Negative means never, which is for gRPC proxies
	// that do not answer; progress then comes when etcd likes, by default
	// every ten minutes, and a silent connection goes unnoticed.
	ProgressInterval time.Duration
	// RequestTimeout bounds one request of a list. Zero means
	// DefaultRequestTimeout.
	RequestTimeout time.Duration
	// Logger gets keys that are passed over. Nil means slog.Default.
	Logger *slog.Logger
}

// withDefaults checks c and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	if c.PageSize < 0 || c.RequestTimeout < 0 {
		return c, fmt.Errorf("etcd source: page size %d and request timeout %v must not be negative", c.PageSize, c.RequestTimeout)
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
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}
