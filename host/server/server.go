package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/watchglass/watchglass/host/connector"
)

// The defaults and limits of the HTTP side.
const (
	DefaultPingInterval = 20 * time.Second

	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second
	replyTimeout   = time.Minute // for pages; connections of readers have their own
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)

// Config of a server. Connector is required, every other zero takes its
// default.
type Config struct {
	Connector *connector.Connector
	// Logger gets requests and connections at debug. Nil means slog.Default.
	Logger *slog.Logger
	// AllowOrigins are the origins, "https://dashboard.example.com", whose
	// pages may connect besides the server's own and those on loopback. A
	// host may have wildcards for its labels ("https://*.example.com"), and
	// "*" allows every page there is.
	AllowOrigins []string
	// Ready says why the source cannot be reached, for /readyz. Nil means
	// that it always can.
	Ready func(context.Context) error
	// Metrics writes what else /metrics says, in the Prometheus text format.
	// Nil means nothing.
	Metrics func(io.Writer)
	// Page is what to serve at /. Nil means what was built into the binary.
	Page fs.FS
	// HealthOnly serves no readers and no page: health and metrics alone, of a
	// connector whose readers come another way.
	HealthOnly bool
	// PingInterval is how often a connection is asked for a sign of life.
	PingInterval time.Duration
}

// Server is an http.Handler that can also listen by itself. Safe for concurrent
// use.
type Server struct {
	config  Config
	origins origins
	mux     http.Handler
	http    http.Server

	stopping context.Context // ends when Shutdown begins
	stop     context.CancelFunc

	mu      sync.Mutex
	closed  bool
	serving sync.WaitGroup // WebSocket connections; Add under mu while not closed
}

// New makes a server. The error is a mistake in the config or in the page.
func New(config Config) (*Server, error) {
	if config.Connector == nil {
		return nil, errors.New("server: a connector is required")
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Page == nil {
		config.Page = embedded()
	}
	if config.PingInterval == 0 {
		config.PingInterval = DefaultPingInterval
	}
	origins, err := parseOrigins(config.AllowOrigins)
	if err != nil {
		return nil, err
	}
	page, err := newPage(config.Page)
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, origins: origins}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.mux = s.routes(page)
	s.http = http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      replyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(config.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *Server) routes(page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", s.logged(http.HandlerFunc(alive)))
	mux.Handle("GET /readyz", s.logged(http.HandlerFunc(s.ready)))
	mux.Handle("GET /metrics", s.logged(http.HandlerFunc(s.metrics)))
	if !s.config.HealthOnly {
		mux.HandleFunc("GET /watch", s.watch)
		mux.Handle("GET /", s.logged(page))
	}
	return mux
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if err := s.origins.checkHost(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Guard keeps pages of somebody else's away from a handler that listens beside
// this server, as they are kept away from the server.
func (s *Server) Guard(next http.Handler) http.Handler {
	return s.logged(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, check := range []func(*http.Request) error{s.origins.checkHost, s.origins.check} {
			if err := check(r); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	}))
}

// secure sets the headers that every answer has. The page may run its own
// scripts, workers and WebAssembly, and talk to the server it came from.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "+
		"worker-src 'self' blob:; style-src 'self'; img-src 'self' data:; "+
		"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// Serve answers on a listener until Shutdown, and then returns nil.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops listening, tells the readers, and returns when every
// connection has ended, or with ctx's error when ctx ends first. The connector
// stays the caller's to close.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	if err := s.http.Shutdown(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() { // ends with the last of those it waits for
		s.serving.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter counts a connection in, unless the server is shutting down.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.serving.Add(1)
	return true
}
