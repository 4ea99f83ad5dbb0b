package kubeapi

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// Config configures a handler. Backend is required. Every other field may be zero, which
// selects a default.
type Config struct {
	Backend Backend
	// Access authenticates each request by its bearer token, which may be empty, and
	// authorizes the user to get, list or watch. If Access is nil, every client may read
	// everything.
	Access access.Policy
	// Observer receives every decision of Access. If Observer is nil, decisions are not
	// reported.
	Observer access.Observer
	// ReviewInterval is the maximum time between two reviews of a watch's authorization.
	// A review happens earlier when a decision of Access expires. Zero means
	// access.ReviewInterval.
	ReviewInterval time.Duration
	// Limits contains the resource limits of the server, and counts refusals. If Limits is
	// nil, the default limits apply, and refusals are not counted.
	Limits *limit.Set
	// Ready returns an error while requests cannot be served; /readyz calls it. If Ready
	// is nil, /readyz reports the source as ready.
	Ready func(context.Context) error
	// Ended is called after each request with the duration, and with the verb and the code
	// that the type [Ended] describes. It may be nil.
	Ended func(verb string, code int, took time.Duration)
	// Server identifies this build. /version appends Server to gitVersion, after a plus
	// sign.
	Server string
}

// Handler serves the API. It is safe for concurrent use.
type Handler struct {
	config   Config
	access   access.Policy   // Config.Access, with the limits and the observer applied
	stopping context.Context // canceled by Stop
	stop     context.CancelFunc
	draining atomic.Bool // Drain was called
	counts   counts
	open     openWatches

	// A request occupies seats while Access decides, while it waits for data, and while
	// it is served. Each of these states has separate seats, so that unauthenticated or
	// waiting requests do not block others.
	deciding, waiting, requests, watches *seats
	refusals                             *refusals
}

// New returns a handler.
func New(config Config) *Handler {
	if config.Access == nil {
		config.Access = access.Everyone()
	}
	if config.ReviewInterval == 0 {
		config.ReviewInterval = access.ReviewInterval
	}
	if config.Server == "" {
		config.Server = "watchglass"
	}
	h := &Handler{config: config, access: access.Enforce(config.Access, config.Limits, config.Observer)}
	for seats, l := range map[**seats]*limit.Limit{
		&h.deciding: limit.MaxRequests, &h.waiting: limit.MaxWaitingRequests, &h.requests: limit.MaxRequests, &h.watches: limit.MaxWatches,
	} {
		*seats = newSeats(config.Limits, l)
	}
	h.refusals = newRefusals(config.Limits)
	h.stopping, h.stop = context.WithCancel(context.Background())
	return h
}

// Drain makes /readyz fail, so that load balancers choose another server. Requests are
// served as before until Stop.
func (h *Handler) Drain() { h.draining.Store(true) }

// Stop ends every watch without an error event, so that the HTTP server can shut down.
func (h *Handler) Stop() { h.stop() }

const allowed = "GET, HEAD, OPTIONS"

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if client := access.ClientOf(r.Context()); client.Header == nil { // host/server did not add the client
		client.Header, client.TLS = r.Header, r.TLS
		r = r.WithContext(access.WithClient(r.Context(), client))
	}
	out := newOutput(w, h.config.Limits)
	defer out.Finish()
	request := &request{route: parseRoute(r.URL.Path), verb: "other"}
	began := time.Now()
	defer func() {
		h.counts.add(Ended{request.verb, out.code})
		if h.config.Ended != nil {
			h.config.Ended(request.verb, out.code, time.Since(began))
		}
	}()
	status := h.serve(out, r, request)
	if status != nil {
		h.refusals.pace(r.Context(), clientOf(r, request.user), status)
	}
	switch {
	case status == nil:
	case r.Context().Err() != nil && status.Code != api.CodeTimeout: // a read timeout also cancels the context
		out.code = codeClientGone
	default:
		fail(out, status, request.about(status))
	}
}

// codeClientGone is the code in the metrics for requests whose client disconnected before
// the response.
const codeClientGone = 499

// request is the state of one request.
type request struct {
	route
	params
	verb   string // for the metrics
	token  string
	user   *access.User
	schema *api.Schema
	// reviewAt is the time at which the policy's decision expires and the request must be
	// authorized again. If it is zero, only Config.ReviewInterval applies.
	reviewAt time.Time
}

// about returns the status details of a failure. The details name the object only for a
// 403, and for a 404 of a served resource.
func (r *request) about(s *api.Status) statusDetails {
	read := r.kind == collection || r.kind == object
	if s.Code != http.StatusForbidden && (s.Code != http.StatusNotFound || r.schema == nil) || !read {
		return statusDetails{}
	}
	return statusDetails{Name: r.name, Group: r.resource.Group, Kind: r.resource.Name}
}

// serve serves a request. If it fails before it has begun the response, it returns the
// status to send; otherwise it returns nil.
func (h *Handler) serve(w *output, r *http.Request, req *request) *api.Status {
	if req.kind == health {
		req.verb = "health"
		h.health(w, r, req.name)
		return nil
	}
	status := h.deciding.within(clientOf(r, nil), 1, func() *api.Status { return h.authenticate(w, r, req) })
	if status != nil {
		return status
	}
	if req.kind == selfReview {
		return h.selfReview(w, r, req)
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
	case unknownRoute:
		return notServed(r.URL.Path)
	case version:
		req.verb = "discovery"
		return reply(w, contentType, h.version())
	case collection, object:
		return h.read(w, r, req)
	}
	req.verb = "discovery"
	return h.requests.within(clientOf(r, req.user), 1, func() *api.Status { return h.discover(w, r, req.route) })
}

func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request, req *request) *api.Status {
	req.token = access.BearerToken(r)
	var status *api.Status
	req.user, status = h.access.Authenticate(r.Context(), req.token)
	if status != nil && status.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return status
}

// read serves a get, a list or a watch.
func (h *Handler) read(w *output, r *http.Request, req *request) *api.Status {
	if req.verb = "list"; req.kind == object {
		req.verb = "get"
	}
	var status *api.Status
	if req.params, status = parseParams(r.URL.RawQuery, h.config.Limits.Selectors()); status != nil {
		h.config.Limits.CountStatus(status)
		return status
	}
	if req.watch {
		req.verb = "watch"
	}
	if req.verb != "get" {
		status = h.config.Limits.RefuseReached(limit.MaxMemory, "the server has reached its memory limit: try again later")
		if status != nil {
			return status
		}
	}
	client := clientOf(r, req.user)
	status = h.deciding.within(client, 1, func() *api.Status { return h.admit(r, req) })
	if status != nil {
		return status
	}
	if req.watch {
		return h.watches.within(client, 1, func() *api.Status { return h.watch(w, r, req) })
	}
	seats, status := h.weigh(r, req, client)
	if status != nil {
		return status
	}
	return h.requests.within(client, seats, func() *api.Status {
		if req.kind == object {
			return h.get(w, r, req)
		}
		return h.list(w, r, req)
	})
}

// weigh waits until a get or a list can be served, and returns the number of seats that the
// request needs.
func (h *Handler) weigh(r *http.Request, req *request, client string) (int, *api.Status) {
	weigher, ok := h.config.Backend.(Weigher)
	if !ok {
		return 1, nil
	}
	options := ListOptions{ResourceVersion: req.resourceVersion}
	if req.kind == collection {
		options = req.listOptions(client)
	}
	leave := func() {}
	defer func() { leave() }()
	objects, err := weigher.Weigh(r.Context(), req.resource, options, func() error {
		left, refused := h.waiting.take(client, 1)
		if refused != nil {
			return refused
		}
		leave = left
		return nil
	})
	if err != nil {
		return 0, asStatus(err)
	}
	if req.kind == object {
		objects = 1
	}
	return seatsOf(objects), nil
}

// admit authorizes a read before it finds the schema, so that a refusal does not disclose
// whether the resource exists.
func (h *Handler) admit(r *http.Request, req *request) (refused *api.Status) {
	if req.reviewAt, refused = h.access.Authorize(r.Context(), req.user, req.asks()); refused != nil {
		return refused
	}
	schema, err := h.config.Backend.Schema(r.Context(), req.resource)
	if err != nil {
		return asStatus(err)
	}
	if !req.fits(schema) {
		return notServed(r.URL.Path)
	}
	req.schema = schema
	return nil
}

// asks returns the access request that the policy must authorize.
func (r *request) asks() access.Request {
	asked := access.NewRequest(r.resource, r.namespace, r.selection.Fields)
	asked.Verb = r.verb
	if r.kind == object {
		asked.Name = r.name
	}
	return asked
}

func notServed(path string) *api.Status {
	return api.NotFound("the server could not find the requested resource: " + strconv.Quote(path) +
		"; /api/v1 and /apis list the served resources")
}

// asStatus returns the status in an error, or a 500 for any other error (rule C9).
func asStatus(err error) *api.Status {
	var status *api.Status
	if errors.As(err, &status) {
		return status
	}
	return api.Internal(err.Error())
}

// major and minor are the version of the Kubernetes API that this package implements.
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
