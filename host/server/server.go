package server

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/admission"
	"github.com/watchglass/watchglass/host/internal/writedeadline"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/metrics"
)

// These constants limit the duration of HTTP requests. WebSockets of readers have separate
// limits.
const (
	requestTimeout = 30 * time.Second
	replyTimeout   = time.Minute // for writing a health or metrics response; limit.WriteTimeout applies to the page
)

// Config configures a server. Connector is required. The zero value of every other field
// selects a default.
type Config struct {
	Connector *connector.Connector
	// Logger receives requests and connections at level debug. Nil means slog.Default.
	Logger *slog.Logger
	// AllowOrigins are the origins whose pages may connect, for example
	// "https://dashboard.example.com". The server's origin and loopback origins are
	// always allowed. A host may contain wildcards ("https://*.example.com"), and "*"
	// allows every origin.
	AllowOrigins []string
	// TrustedProxies are the addresses of proxies whose X-Forwarded-For header contains the
	// client's address. The server uses the client's address in logs and for the limits per
	// address.
	TrustedProxies []netip.Prefix
	// Metrics are served at /metrics, in addition to the metrics of the connector and of
	// the server's connections.
	Metrics []prometheus.Collector
	// Page is the file system served at /. Nil means the dashboard built into the
	// binary.
	Page fs.FS
	// Discovery serves GET /api and GET /apis, as host/kubeapi does, so that clients of
	// /watch can list the resource kinds. If Discovery is nil, these paths belong to Page.
	Discovery http.Handler
	// HealthOnly serves health and metrics only, for a connector whose readers do not
	// connect to this server.
	HealthOnly bool
	// Access authorizes requests for /metrics and for the resources of /readyz?verbose.
	// Nil allows everyone. Leave Access nil with HealthOnly, because health and metrics
	// clients send no tokens.
	Access access.Policy
	// SessionCookie is the name of the cookie in which Access finds a token. Requests
	// with the cookie must come from pages of this server or of AllowOrigins, which
	// must not be "*". If SessionCookie is empty, the server ignores cookies.
	SessionCookie string
	// ProxySessions must be set if a front proxy authenticates clients, for example by
	// cookies. The origins of page requests are then checked as strictly as with
	// SessionCookie.
	ProxySessions bool
	// Observer receives the decisions of Access. It may be nil.
	Observer access.Observer
	// Private makes /metrics and the resources of /readyz?verbose available only from the
	// handler that Server.Private returns.
	Private bool
	// PingInterval is the time between pings on a connection. Zero means
	// limit.PingInterval.
	PingInterval time.Duration
}

// Server is an http.Handler that can also serve a listener. It is safe for concurrent
// use.
type Server struct {
	config    Config
	access    access.Policy // Config.Access, with limits and observer applied; nil allows everyone
	origins   origins
	admission *admission.Control
	metrics   http.Handler
	mux       http.Handler
	http      *http.Server

	stopping context.Context // canceled when Shutdown begins
	stop     context.CancelFunc
	draining atomic.Bool // Drain was called

	mu      sync.Mutex
	closed  bool
	serving sync.WaitGroup // WebSocket connections; Add under mu while not closed
}

// New returns a server, or an error for an invalid config or page. The server does not
// close the connector.
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
		config.PingInterval = config.Connector.Limits().Duration(limit.PingInterval)
	}
	origins, err := parseOrigins(config.AllowOrigins)
	if err != nil {
		return nil, err
	}
	if origins.any && (config.SessionCookie != "" || config.ProxySessions) {
		return nil, errors.New(`allowed origin "*": with session cookies every page could act as the user; list the origins`)
	}
	page, err := newPage(config.Page, config.Access == nil)
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, origins: origins}
	if config.Access != nil {
		s.access = access.Enforce(config.Access, config.Connector.Limits(), config.Observer)
	}
	s.admission = admission.New(config.Connector.Limits(), config.TrustedProxies)
	if s.metrics, err = metrics.Handler(config.Logger, append([]prometheus.Collector{
		metrics.Connector(config.Connector), metrics.Limits(config.Connector.Limits()), metrics.Admission(s.admission.Counts),
	}, config.Metrics...)...); err != nil {
		return nil, err
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.mux = s.routes(page)
	s.http = s.bounded(s)
	s.http.ReadTimeout, s.http.WriteTimeout = requestTimeout, replyTimeout
	return s, nil
}

func (s *Server) routes(page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", s.logged(http.HandlerFunc(alive)))
	mux.Handle("GET /livez", s.logged(http.HandlerFunc(alive)))
	mux.Handle("GET /readyz", s.logged(http.HandlerFunc(s.ready)))
	if !s.config.Private {
		mux.Handle("GET /metrics", s.logged(http.HandlerFunc(s.authorizedMetrics)))
	}
	if !s.config.HealthOnly {
		mux.HandleFunc("GET /watch", s.watch)
		if s.config.Discovery != nil {
			for _, pattern := range []string{"GET /api", "GET /apis", "OPTIONS /api", "OPTIONS /apis"} {
				mux.Handle(pattern, s.logged(http.HandlerFunc(s.discovery)))
			}
		}
		mux.Handle("GET /", s.logged(writedeadline.Handler(page, s.config.Connector.Limits())))
	}
	return mux
}

// bounded returns an HTTP server for handler with the header, idle and connection limits of
// this Server.
func (s *Server) bounded(handler http.Handler) *http.Server {
	limits := s.config.Connector.Limits()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: limits.Duration(limit.HeaderTimeout),
		IdleTimeout:       limits.Duration(limit.IdleTimeout),
		MaxHeaderBytes:    limits.Int(limit.MaxHeaderBytes),
		ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
	s.Attach(server)
	return server
}

// Attach applies the connection limits to the caller's HTTP server, whose handler must be
// this Server. It sets the fields ConnContext and ConnState, so call it before the HTTP
// server starts to serve.
func (s *Server) Attach(server *http.Server) { s.admission.Attach(server) }

// Private returns a handler for /metrics and for /readyz with error messages. Serve it at
// an address that only operators can reach.
func (s *Server) Private() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", s.readyWithReasons)
	mux.Handle("GET /metrics", s.metrics)
	return mux
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, done := s.admission.Identify(r)
	defer done()
	secure(w.Header())
	identify(w.Header(), r)
	if err := s.origins.checkHost(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Beside returns an HTTP server for another handler and address. That server shares the
// connection limits and the allowed origins with s. The caller must start it and shut it
// down.
func (s *Server) Beside(handler http.Handler) *http.Server {
	checked := s.logged(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, check := range []func(*http.Request) error{s.origins.checkHost, s.checkOrigin} {
			if err := check(r); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
		}
		handler.ServeHTTP(w, r)
	}))
	return s.bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, done := s.admission.Identify(r)
		defer done()
		protect(w.Header())
		identify(w.Header(), r)
		checked.ServeHTTP(w, r)
	}))
}

// identify sets the response header that contains the request ID.
func identify(h http.Header, r *http.Request) {
	h.Set(admission.RequestIDHeader, access.ClientOf(r.Context()).RequestID)
}

// checkOrigin returns an error if a request comes from a page that must not connect, or
// that must not use the session of the browser's user.
func (s *Server) checkOrigin(r *http.Request) error {
	cookie := s.config.SessionCookie
	ambient := cookie != "" && len(r.CookiesNamed(cookie)) > 0 || s.config.ProxySessions && r.Header.Get("Origin") != ""
	if ambient {
		return s.origins.checkSession(r)
	}
	return s.origins.check(r)
}

// protect sets the headers that prevent pages of other origins from embedding a response.
func protect(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// secure sets the security headers of a response. The page may run scripts, workers and
// WebAssembly only from this server, and connect only to this server.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "+
		"worker-src 'self' blob:; style-src 'self'; img-src 'self' data:; "+
		"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	protect(h)
}

// Serve serves a listener until Shutdown, and then returns nil. It closes the
// listener before it returns.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Drain makes /readyz report that the server is shutting down, so that load balancers
// select another server. Requests are served as before until Shutdown.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown stops listening, sends the closing status to readers, and waits until every
// connection has ended. If ctx is done first, it returns the error of ctx. It does not close
// the connector.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	if err := s.http.Shutdown(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() { // outlives Shutdown if ctx is done first
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

// enter registers a WebSocket connection and returns true, or returns false if the server
// is shutting down.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.serving.Add(1)
	return true
}
