package edge

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// reviewInterval is the time between two reviews of a watch. It limits how long a watch
// outlasts the removal of the key that signed its token. No watch outlasts its token. A
// review is cheap: it verifies one signature.
const reviewInterval = 5 * time.Second

// Config configures a handler. All fields are required.
type Config struct {
	Keys     token.Keys
	Clusters Clusters
	// Object returns the transport to the Durable Object with the given name, as in NewBackend.
	Object func(name string) http.RoundTripper
	Now    func() time.Time
	// Version is the version of the build, for metrics.
	Version string
}

// NewHandler returns the HTTP handler of the edge. It is safe for concurrent use if
// Config.Object is.
func NewHandler(config Config) http.Handler {
	h := &handler{config: config, clusters: map[string]*cluster{}}
	for name, spread := range config.Clusters {
		policy := h.policy(name)
		b := &backend{name, spread, config.Object}
		h.clusters[name] = &cluster{b, policy, kubeapi.New(kubeapi.Config{
			Backend: b, Access: policy, ReviewInterval: reviewInterval, Server: "watchglass-edge",
		}), config.Now, config.Version}
	}
	return h
}

type handler struct {
	config   Config
	clusters map[string]*cluster
}

// policy returns the policy for the tokens of a cluster.
func (h *handler) policy(cluster string) access.Policy {
	return access.Enforce(token.Policy(h.config.Keys, cluster, h.config.Now), nil, nil)
}

// cluster serves the requests for one cluster of the edge.
type cluster struct {
	backend *backend
	policy  access.Policy
	api     *kubeapi.Handler
	now     func() time.Time
	version string
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	allowOrigins(w.Header())
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		preflight(w)
		return
	}
	name, path := split(r.URL.Path)
	if path == "/healthz" {
		plain(w, http.StatusOK, "ok\n")
		return
	}
	c := h.clusters[name]
	if c == nil {
		h.unknown(w, r, name)
		return
	}
	switch path {
	case "/readyz":
		c.authenticated(w, r, c.ready)
	case "/metrics":
		c.authenticated(w, r, c.metrics)
	default:
		inside := r.Clone(r.Context())
		inside.URL.Path, inside.URL.RawPath = path, ""
		c.api.ServeHTTP(w, inside)
	}
}

// allowOrigins lets pages of any origin send requests. Browsers do not add a token on
// their own, so a page of another origin cannot misuse the user's token.
func allowOrigins(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Retry-After, Warning")
}

func preflight(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Authorization, Accept, Content-Type")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// split returns the cluster that a path names, and the rest of the path. Without a name,
// it returns DefaultCluster and the whole path.
func split(path string) (cluster, rest string) {
	inside, ok := strings.CutPrefix(path, "/clusters/")
	if !ok {
		return DefaultCluster, path
	}
	cluster, rest, _ = strings.Cut(inside, "/")
	return cluster, "/" + rest
}

// unknown responds to a request for an unknown cluster. A client with a token for this
// name receives a 404; other clients receive a 401.
func (h *handler) unknown(w http.ResponseWriter, r *http.Request, name string) {
	_, status := h.policy(name).Authenticate(r.Context(), access.BearerToken(r))
	if status == nil {
		status = api.NotFound("there is no cluster " + strconv.Quote(name) + " at this edge")
	}
	fail(w, status)
}

// authenticated calls answer if the request has a valid token for the cluster, and refuses
// other requests.
func (c *cluster) authenticated(w http.ResponseWriter, r *http.Request, answer func(http.ResponseWriter, *http.Request, *access.User)) {
	user, status := c.policy.Authenticate(r.Context(), access.BearerToken(r))
	if status != nil {
		fail(w, status)
		return
	}
	answer(w, r, user)
}

func fail(w http.ResponseWriter, status *api.Status) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if status.Code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status.Code)
	w.Write(append(kubeapi.AppendStatus(nil, status), '\n')) // the client may be gone
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	io.WriteString(w, text) // the client may be gone
}
