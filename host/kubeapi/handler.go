package kubeapi

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
)

// The defaults of Config.
const (
	DefaultMinTimeout   = 30 * time.Minute
	DefaultWriteTimeout = time.Minute
)

// Config of a handler. Backend is required, every other zero takes its default.
type Config struct {
	Backend Backend
	// Authenticate decides about the bearer token of a request, which may be
	// empty; a non-nil status is the answer. Nil lets everyone in.
	Authenticate func(token string) *api.Status
	// MinTimeout is the least time of a watch that asks for none; it gets up
	// to twice that, at random (rule P9).
	MinTimeout time.Duration
	// WriteTimeout is how long a client may take nothing of what is sent to
	// it, where the server can tell.
	WriteTimeout time.Duration
	// Server names this build in /version, as a semantic version's build
	// metadata.
	Server string
}

// Handler serves the API. Safe for concurrent use.
type Handler struct {
	config   Config
	stopping context.Context // ends with Stop
	stop     context.CancelFunc
	counts   counts
}

// New makes a handler.
func New(config Config) *Handler {
	if config.MinTimeout == 0 {
		config.MinTimeout = DefaultMinTimeout
	}
	if config.WriteTimeout == 0 {
		config.WriteTimeout = DefaultWriteTimeout
	}
	if config.Server == "" {
		config.Server = "watchglass"
	}
	h := &Handler{config: config}
	h.stopping, h.stop = context.WithCancel(context.Background())
	return h
}

// Stop ends every watch, in order, so that the HTTP server can shut down.
func (h *Handler) Stop() { h.stop() }

const allowed = "GET, HEAD, OPTIONS"

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := newOutput(w, h.config.WriteTimeout)
	request := &request{place: findPlace(r.URL.Path), verb: "other"}
	defer func() { h.counts.add(request.verb, out.code) }()
	if status := h.serve(out, r, request); status != nil {
		fail(out, status, request.about(status))
	}
}

// request is what is known of a request so far.
type request struct {
	place
	params
	verb   string // for the metrics
	schema *api.Schema
}

// about names what a failure is about.
func (r *request) about(s *api.Status) statusDetails {
	if r.schema == nil || s.Code != http.StatusNotFound && s.Code != http.StatusForbidden {
		return statusDetails{}
	}
	return statusDetails{Name: r.name, Group: r.resource.Group, Kind: r.resource.Name}
}

// serve answers, or says with what to fail. Once something was written it
// returns nil.
func (h *Handler) serve(w *output, r *http.Request, req *request) *api.Status {
	if status := h.authenticate(w, r); status != nil {
		return status
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusNoContent)
		return nil
	default:
		w.Header().Set("Allow", allowed)
		return &api.Status{Code: http.StatusMethodNotAllowed, Reason: reasonMethodNotAllowed,
			Message: "this API only reads: " + r.Method + " is not allowed; change objects through the cluster's own kube-apiserver"}
	}
	switch req.kind {
	case nowhere:
		return notServed(r.URL.Path)
	case version:
		req.verb = "discovery"
		return reply(w, contentType, h.version())
	case collection, object:
		return h.read(w, r, req)
	}
	req.verb = "discovery"
	return h.discover(w, r, req.place)
}

func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) *api.Status {
	if h.config.Authenticate == nil {
		return nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	status := h.config.Authenticate(strings.TrimSpace(token))
	if status != nil && status.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return status
}

// read answers a get, a list or a watch.
func (h *Handler) read(w *output, r *http.Request, req *request) *api.Status {
	schema, err := h.config.Backend.Schema(r.Context(), req.resource)
	if err != nil {
		return asStatus(err)
	}
	if !req.fits(schema) {
		return notServed(r.URL.Path)
	}
	req.schema = schema
	if req.verb = "list"; req.kind == object {
		req.verb = "get"
	}
	var status *api.Status
	if req.params, status = parseParams(r.URL.RawQuery); status != nil {
		return status
	}
	switch {
	case req.watch:
		req.verb = "watch"
		return h.watch(w, r, req)
	case req.kind == object:
		return h.get(w, r, req)
	}
	return h.list(w, r, req)
}

func notServed(path string) *api.Status {
	return api.NotFound("the server could not find the requested resource: there is nothing at " + strconv.Quote(path) +
		"; /api/v1 and /apis list what is served")
}

// asStatus finds the status in an error (rule C9).
func asStatus(err error) *api.Status {
	var status *api.Status
	if errors.As(err, &status) {
		return status
	}
	return api.Internal(err.Error())
}

// The version of the Kubernetes API whose reading side this is.
const (
	major, minor = "1", "37"
	gitVersion   = "v1.37.2"
)

func (h *Handler) version() versionDocument {
	return versionDocument{
		Major: major, Minor: minor, GitVersion: gitVersion + "+" + h.config.Server,
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}
