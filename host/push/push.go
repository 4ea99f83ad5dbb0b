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

// Config of a pusher. PingInterval and Logger have defaults, Replace may be
// false; the rest is required.
type Config struct {
	// Connector has the resources. It must let the edge read them.
	Connector *connector.Connector
	// URL of the edge, "wss://edge.example.com/feed". Without TLS only on
	// loopback, because a token goes with it.
	URL string
	// Resources are what is brought.
	Resources []api.Resource
	// Source names the history that resource versions belong to. An edge that
	// holds those of another refuses them. It and Token may be called by several
	// goroutines at once: each connection asks for itself.
	Source func(context.Context) (string, error)
	// Token is asked for before every attempt, for tokens do not last.
	Token func() (string, error)
	// Replace makes the edge forget what it holds of another source.
	Replace bool
	// PingInterval is how often an idle connection is asked for a sign of life. The
	// edge answers without waking up. Zero means the connector's limit of that name.
	PingInterval time.Duration
	// Logger gets what happens to the connection at info, what goes wrong at
	// warn. Nil means slog.Default.
	Logger *slog.Logger
}

// Pusher feeds one edge: each of its objects over a connection of its own.
type Pusher struct {
	config Config
	url    *url.URL
}

// New makes a pusher. The error is a mistake in the config.
func New(config Config) (*Pusher, error) {
	if config.PingInterval == 0 {
		config.PingInterval = config.Connector.Limits().Duration(limit.PingInterval)
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if len(config.Resources) == 0 {
		return nil, errors.New("push: no resources are given to bring")
	}
	u, err := parseURL(config.URL)
	if err != nil {
		return nil, err
	}
	return &Pusher{config: config, url: u}, nil
}

// parseURL insists on TLS, but for this machine.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	shown := redact.URL(text)
	switch {
	case shown != text: // whatever is wrong with it besides, which might be quoted
		return nil, fmt.Errorf("edge %s: the URL carries credentials; give the token by itself", shown)
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
		return nil, fmt.Errorf("edge %s: readers connect to /watch; a connector feeds /feed, as in wss://edge.example.com/feed", text)
	case u.Scheme == "ws" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("edge %s: the token would go over the network in the clear; use wss://", text)
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

// Run keeps the edge fed until ctx ends, and then returns nil. It gives up when
// the edge, or one of the objects that it names at first, refuses the very first
// connection for good, with a [*RefusedError], when it divides at first what cannot
// be divided, or when what is there is no edge.
func (p *Pusher) Run(ctx context.Context) error {
	first := true
	var pauses backoff.Pauses
	for {
		var parts []connector.Part
		err := p.insist(ctx, func() (done bool, err error) {
			parts, err = p.plan(ctx)
			return err == nil || first && isFinal(err), err
		})
		if err != nil || ctx.Err() != nil {
			return err
		}
		if err := p.feedAll(ctx, parts, first); !errors.Is(err, errDivided) {
			return err
		}
		first = false
		wait := pauses.Next(time.Now()) // while it is deployed, it may say now this and now that
		p.config.Logger.Info("connecting anew", "edge", p.url.Host, "in", wait.Round(time.Millisecond), "reason", errDivided)
		backoff.Sleep(ctx, wait)
	}
}

// feedAll feeds all objects until ctx ends, there are others, or one refuses for
// good, the first time that it is asked, if these are the first.
func (p *Pusher) feedAll(ctx context.Context, parts []connector.Part, first bool) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		group.Go(func() error {
			accepted := !first
			return p.insist(ctx, func() (done bool, err error) {
				err = p.connect(ctx, part, &accepted)
				if p.moved(ctx, err, parts) {
					return true, errDivided
				}
				return !accepted && isFinal(err), err
			})
		})
	}
	return group.Wait()
}

// insist does something until it is done, with growing pauses, and returns its
// last error; nil when ctx ended.
func (p *Pusher) insist(ctx context.Context, act func() (done bool, err error)) error {
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
		p.config.Logger.Warn("the edge is not being fed, trying again", "edge", p.url.Host, "in", wait.Round(time.Millisecond), "error", describe(err))
		backoff.Sleep(ctx, wait)
	}
}

// describe leaves out what a person has no use for.
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

// connect feeds one object over one connection until it ends, and says why it did.
// Before that, accepted is set if the other side is one that is fed.
func (p *Pusher) connect(ctx context.Context, part connector.Part, accepted *bool) error {
	conn, err := p.dial(ctx, part)
	if err != nil {
		return err
	}
	log := p.config.Logger.With("edge", p.url.Host)
	if !part.Shard.Whole() {
		log = log.With("shard", part.Shard)
	}
	log.Info("connected to the edge, standing by")
	f := &feed{conn: conn, connector: p.config.Connector, part: part, log: log}
	err = f.serve(ctx, p.config.PingInterval)
	*accepted = *accepted || !errors.Is(err, errNoFeed)
	return err
}
