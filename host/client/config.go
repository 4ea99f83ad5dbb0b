package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"

	"github.com/watchglass/watchglass/host/internal/redact"
)

// Config configures a client. Either URL or Dial is required.
type Config struct {
	// URL is the address of the connector's watch endpoint, such as
	// "ws://localhost:8080/watch". ws, wss, http and https are supported. It must not
	// contain credentials, because URLs appear in logs.
	URL string
	// Token is the credential that the client sends to the connector when a connection
	// opens.
	Token string
	// Client names this program in the connector's logs. Default
	// "watchglass-go".
	Client string

	// MaxBytes limits the memory for objects. Default 512 MiB.
	MaxBytes uint64
	// MaxHistory is the number of changes per collection that are retained for
	// watches that stall or resume. Default 1024.
	MaxHistory int

	// Module is the wasm module to run. Default: the one that this package was built
	// with.
	Module []byte
	// CacheDir is the directory in which the compiled module is cached. The cache saves a
	// second or two at the next start. Default: [DefaultCacheDir].
	CacheDir string

	// Logger receives failures that are not reported otherwise: failed instances and
	// connections, and objects that cannot be updated. The default logs no messages.
	Logger *slog.Logger
	// Dial replaces the WebSocket connection to URL, for tests and tunnels.
	Dial func(ctx context.Context) (Conn, error)
	// Tap receives every connection and returns the one to use instead, for example
	// to record messages.
	Tap func(Conn) Conn
}

// Conn is a connection to a connector that transports complete messages. Read and
// Write are called from one goroutine each. Close is called once, sends the reason
// to the peer, and interrupts Read.
type Conn interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, message []byte) error
	Close(reason string) error
}

// validate sets the defaults and returns an error for invalid values.
func (c *Config) validate() error {
	if c.Dial == nil {
		if err := checkURL(c.URL); err != nil {
			return err
		}
		c.Dial = dialer(c.URL, c.Token)
	}
	if c.Tap != nil {
		c.Dial = tapped(c.Dial, c.Tap)
	}
	if c.MaxHistory < 0 || c.MaxHistory > math.MaxInt32 {
		return fmt.Errorf("client: MaxHistory is %d, expected 0 (the default) to %d", c.MaxHistory, math.MaxInt32)
	}
	if c.Client == "" {
		c.Client = "watchglass-go"
	}
	if c.CacheDir == "" {
		c.CacheDir = DefaultCacheDir()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func tapped(dial func(ctx context.Context) (Conn, error), tap func(Conn) Conn) func(ctx context.Context) (Conn, error) {
	return func(ctx context.Context) (Conn, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return tap(conn), nil
	}
}

func checkURL(text string) error {
	if text == "" {
		return errors.New(`client: no connector URL given, such as "ws://localhost:8080/watch"`)
	}
	u, err := url.Parse(text)
	switch shown := redact.URL(text); {
	case shown != text: // other errors might quote the URL
		return fmt.Errorf("client: connector URL %q contains credentials, which would appear in logs: use Config.Token", shown)
	case err != nil:
		return fmt.Errorf("client: connector URL: %w", err)
	}
	switch u.Scheme {
	case "ws", "wss", "http", "https":
	default:
		return fmt.Errorf("client: connector URL %q: scheme must be ws, wss, http or https", text)
	}
	return nil
}
