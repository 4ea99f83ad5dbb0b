package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

// alive serves /healthz and /livez. It checks nothing, because any response shows that the
// process handles requests.
func alive(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok\n")
}

// readiness is the response of /readyz.
type readiness struct {
	Ready     bool                `json:"ready"`
	Reasons   []string            `json:"reasons"` // why the server is not ready; empty if it is ready
	Resources []resourceReadiness `json:"resources,omitempty"`
}

// resourceReadiness is the state of one resource.
type resourceReadiness struct {
	Resource        string  `json:"resource"`
	State           string  `json:"state"` // current, stale, or not cached
	ResourceVersion string  `json:"resourceVersion,omitempty"`
	StaleSeconds    float64 `json:"staleSeconds"`
	Reason          string  `json:"reason,omitempty"` // only from the handler of Server.Private
}

// ready serves /readyz. It responds with 200 while new readers can be served, even
// from stale collections, and with 503 otherwise. With ?verbose, the response lists
// the resources. With the header "Accept: application/json", the response is JSON.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) { s.answerReady(w, r, false) }

// readyWithReasons is like ready, but includes error messages. Only operators may read
// these messages, because they may contain addresses of the source.
func (s *Server) readyWithReasons(w http.ResponseWriter, r *http.Request) { s.answerReady(w, r, true) }

func (s *Server) answerReady(w http.ResponseWriter, r *http.Request, reasons bool) {
	state := s.readiness(r.Context(), reasons)
	if r.URL.Query().Has("verbose") && (reasons || !s.config.Private && s.mayReadMetrics(r) == nil) {
		state.Resources = s.resources(reasons)
	}
	code := http.StatusOK
	if !state.Ready {
		code = http.StatusServiceUnavailable
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(state)
		return
	}
	plain(w, code, state.text())
}

func (s *Server) readiness(ctx context.Context, reasons bool) readiness {
	state := readiness{Reasons: []string{}}
	if s.draining.Load() || s.stopping.Err() != nil {
		state.Reasons = append(state.Reasons, "the server is shutting down")
	}
	check := func(failure string, err error) {
		if err == nil {
			return
		}
		if reasons {
			failure += ": " + err.Error()
		}
		state.Reasons = append(state.Reasons, failure)
	}
	check("resources are being loaded", s.config.Connector.Preloaded())
	check("the source cannot be reached", s.config.Connector.Ready(ctx))
	check("users cannot sign in", access.Ready(s.config.Access))
	state.Ready = len(state.Reasons) == 0
	return state
}

// resources returns the state of every resource that is watched at the source.
func (s *Server) resources(reasons bool) []resourceReadiness {
	var all []resourceReadiness
	for _, stats := range s.config.Connector.Stats().Resources {
		one := resourceReadiness{Resource: stats.Resource.String()}
		since, reason := stats.Stale()
		switch {
		case !stats.Ready:
			one.State = "not cached"
			if stats.Err == nil {
				reason = "the first list is not complete"
			}
		case reason != "":
			one.State, one.StaleSeconds = "stale", since.Seconds()
		default:
			one.State = "current"
		}
		if stats.Ready {
			one.ResourceVersion = stats.ResourceVersion.String()
		}
		if reasons {
			one.Reason = reason
		}
		all = append(all, one)
	}
	return all
}

func (r *readiness) text() string {
	var b strings.Builder
	for _, one := range r.Resources {
		b.WriteString(one.Resource + ": " + one.State)
		if one.State == "stale" {
			fmt.Fprintf(&b, " for %.0fs", one.StaleSeconds)
		}
		if one.ResourceVersion != "" {
			b.WriteString(" at resourceVersion " + one.ResourceVersion)
		}
		if one.Reason != "" {
			b.WriteString(": " + one.Reason)
		}
		b.WriteByte('\n')
	}
	if r.Ready {
		return b.String() + "ready\n"
	}
	return b.String() + "not ready: " + strings.Join(r.Reasons, "; ") + "\n"
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	io.WriteString(w, text)
}

// mayReadMetrics returns nil if the client may get /metrics, and otherwise the refusal.
func (s *Server) mayReadMetrics(r *http.Request) *api.Status {
	if s.access == nil {
		return nil
	}
	if err := s.checkOrigin(r); err != nil {
		return api.Forbidden(err.Error())
	}
	policy, token := s.access, access.BearerToken(r)
	if token == "" {
		policy = s.config.Access // a request without a token, such as a probe, does not count as a refused token
	}
	user, refused := policy.Authenticate(r.Context(), token)
	if refused == nil {
		_, refused = policy.Authorize(r.Context(), user, access.Request{Verb: "get", Path: "/metrics"})
	}
	return refused
}

// authorizedMetrics serves /metrics to clients that the policy accepts.
func (s *Server) authorizedMetrics(w http.ResponseWriter, r *http.Request) {
	if refused := s.mayReadMetrics(r); refused != nil {
		if refused.Code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		plain(w, refused.Code, refused.Message+"\n")
		return
	}
	s.metrics.ServeHTTP(w, r)
}
