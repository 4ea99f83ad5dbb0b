package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/backoff"
	"github.com/watchglass/watchglass/host/internal/redact"
	"github.com/watchglass/watchglass/host/limit"
)

// Config configures a pusher. All fields except PingInterval, Logger and Replace are
// required.
type Config struct {
	// Connector serves the resources. Its access policy must let the edge read them.
	Connector *connector.Connector
	// URL is the feed of the edge, "wss://edge.example.com/feed". The URL must use TLS,
	// except on loopback, because the token is sent with each request.
	URL string
	// Resources are the resources to push.
	Resources []api.Resource
	// ClusterID returns the ID of the history that resource versions belong to. An edge
	// that holds data of another history refuses the connection. ClusterID and Token
	// must be safe for concurrent use, because each connection calls them.
	ClusterID func(context.Context) (string, error)
	// Token returns the token for the next attempt. It is called before each attempt,
	// because tokens expire.
	Token func() (string, error)
	// Replace makes the edge discard the data of another cluster.
	Replace bool
	// PingInterval is the time between pings on an idle connection. A hibernating edge
	// responds to pings without waking up. Zero means the connector's limit.PingInterval.
	PingInterval time.Duration
	// Logger logs established connections at level info, and failures at level warn. Nil means
	// slog.Default.
	Logger *slog.Logger
}

// Pusher feeds one edge. Each object has a separate connection.
type Pusher struct {
	config Config
	url    *url.URL
}

// New returns a pusher, or an error for an invalid config.
func New(config Config) (*Pusher, error) {
	if config.PingInterval == 0 {
		config.PingInterval = config.Connector.Limits().Duration(limit.PingInterval)
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if len(config.Resources) == 0 {
		return nil, errors.New("push: no resources to push are given")
	}
	u, err := parseURL(config.URL)
	if err != nil {
		return nil, err
	}
	return &Pusher{config: config, url: u}, nil
}

// CheckURL returns the error that [New] would return if text were the URL of the edge. It
// returns nil for a valid URL.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

// parseURL parses the URL of an edge. It refuses URLs with credentials, and URLs without
// TLS unless the host is loopback.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	shown := redact.URL(text)
	switch {
	case shown != text: // other errors might quote the URL
		return nil, fmt.Errorf("edge %s: the URL contains credentials; give the token separately", shown)
	case err != nil:
		return nil, fmt.Errorf("edge %s: %w", text, err)
	}
	switch u.Scheme {
	case "https", "http":
		u.Scheme = "ws" + strings.TrimPrefix(u.Scheme, "http")
	case "wss", "ws":
	default:
		return nil, fmt.Errorf("edge %s: expected a URL such as wss://edge.example.com/feed", text)
	}
	switch {
	case u.Host == "":
		return nil, fmt.Errorf("edge %s: a host is missing, as in wss://edge.example.com/feed", text)
	case path.Base(u.Path) == "watch":
		return nil, fmt.Errorf("edge %s: /watch is for readers; a connector uses /feed, as in wss://edge.example.com/feed", text)
	case u.Scheme == "ws" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("edge %s: the token would be sent over the network unencrypted; use wss://", text)
	}
	return u, nil
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// Run feeds the edge until ctx is done, and then returns nil. It returns a
// [*RefusedError] if the edge, or an object of the first division, permanently
// refuses the first connection. It also fails if the first division is invalid or
// the server is not an edge.
func (p *Pusher) Run(ctx context.Context) error {
	first := true
	var pauses backoff.Pauses
	for {
		var objects []object
		err := p.retry(ctx, func() (done bool, err error) {
			objects, err = p.plan(ctx)
			return err == nil || first && isFinal(err), err
		})
		if err != nil || ctx.Err() != nil {
			return err
		}
		if err := p.feedAll(ctx, objects, first); !errors.Is(err, errDivided) {
			return err
		}
		first = false
		wait := pauses.Next(time.Now()) // during a deployment, old and new divisions may alternate
		p.config.Logger.Info("reconnecting to the edge", "edge", p.url.Host, "in", wait.Round(time.Millisecond), "reason", errDivided)
		backoff.Sleep(ctx, wait)
	}
}

// feedAll feeds all objects until ctx is done. If the division changes, it returns errDivided.
// For the first division, it also returns an error when an object permanently refuses its first
// connection.
func (p *Pusher) feedAll(ctx context.Context, objects []object, first bool) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, object := range objects {
		group.Go(func() error {
			accepted := !first
			return p.retry(ctx, func() (done bool, err error) {
				err = p.connect(ctx, object, &accepted)
				if p.moved(ctx, err, objects) {
					return true, errDivided
				}
				return !accepted && isFinal(err), err
			})
		})
	}
	return group.Wait()
}

// retry calls act with increasing pauses until act returns done. It returns the error of the
// last call, or nil if ctx is done.
func (p *Pusher) retry(ctx context.Context, act func() (done bool, err error)) error {
	var pauses backoff.Pauses
	for {
		done, err := act()
		if ctx.Err() != nil {
			return nil
		}
		if done {
			return err
		}
		wait := pauses.Next(time.Now())
		p.config.Logger.Warn("feeding the edge failed, retrying", "edge", p.url.Host, "in", wait.Round(time.Millisecond), "error", describe(err))
		backoff.Sleep(ctx, wait)
	}
}

// describe returns the part of an error that is useful in a log.
func describe(err error) error {
	var refused *RefusedError
	var op *net.OpError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &op):
		return op
	}
	return err
}

// connect opens a connection that feeds one object, and returns the error that ended it. It
// also sets accepted if the server accepted the connection as the feed of an edge.
func (p *Pusher) connect(ctx context.Context, object object, accepted *bool) error {
	conn, err := p.dial(ctx, object)
	if err != nil {
		return err
	}
	log := p.config.Logger.With("edge", p.url.Host)
	if !object.shard.Whole() {
		log = log.With("shard", object.shard)
	}
	log.Info("connected to the edge, standing by")
	f := &feed{conn: conn, connector: p.config.Connector, object: object, log: log}
	err = f.serve(ctx, p.config.PingInterval)
	*accepted = *accepted || !errors.Is(err, errNoFeed)
	return err
}
