package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
)

// alive answers /healthz. A response shows that the process handles requests.
func alive(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok\n")
}

// readiness is the response of /readyz.
type readiness struct {
	Ready     bool                `json:"ready"`
	Reasons   []string            `json:"reasons"` // why not; empty when ready
	Resources []resourceReadiness `json:"resources,omitempty"`
}

// resourceReadiness is the state of one resource.
type resourceReadiness struct {
	Resource        string  `json:"resource"`
	State           string  `json:"state"` // current, stale, or not cached
	ResourceVersion string  `json:"resourceVersion,omitempty"`
	StaleSeconds    float64 `json:"staleSeconds"`
	Reason          string  `json:"reason,omitempty"` // for operators
}

// ready answers /readyz: 200 while new readers can be served, including from stale
// collections. With ?verbose the response lists them, and with the header Accept:
// application/json it is JSON.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) { s.answerReady(w, r, false) }

// readyWithReasons is like ready, and includes error texts. They are for operators,
// because they may contain addresses of the source.
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
	if err := s.config.Connector.Ready(ctx); err != nil {
		reason := "the source cannot be reached"
		if reasons {
			reason += ": " + err.Error()
		}
		state.Reasons = append(state.Reasons, reason)
	}
	state.Ready = len(state.Reasons) == 0
	return state
}

// resources describes every resource that is watched at the source.
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

// staleness returns the number of stale resources and the longest time that one of
// them has been stale.
func staleness(all []connector.ResourceStats) (stale int, longest time.Duration) {
	for _, stats := range all {
		if since, reason := stats.Stale(); stats.Ready && reason != "" {
			stale, longest = stale+1, max(longest, since)
		}
	}
	return stale, longest
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

// mayReadMetrics returns nil if the client may get /metrics, and otherwise the reason.
func (s *Server) mayReadMetrics(r *http.Request) *api.Status {
	if s.access == nil {
		return nil
	}
	policy, token := s.access, access.BearerToken(r)
	if token == "" {
		policy = s.config.Access // not counted as a refused token, because the probe presents none
	}
	user, refused := policy.Authenticate(r.Context(), token)
	if refused == nil {
		_, refused = policy.Authorize(r.Context(), user, access.Request{Verb: "get", Path: "/metrics"})
	}
	return refused
}

// authorizedMetrics answers /metrics for clients that the policy accepts.
func (s *Server) authorizedMetrics(w http.ResponseWriter, r *http.Request) {
	if refused := s.mayReadMetrics(r); refused != nil {
		if refused.Code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		plain(w, refused.Code, refused.Message+"\n")
		return
	}
	s.metrics(w, r)
}

// metrics answers /metrics in the Prometheus text format.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	stats := s.config.Connector.Stats()
	var b strings.Builder
	metric := func(name, kind, help string, value any) {
		fmt.Fprintf(&b, "# HELP watchglass_%s %s\n# TYPE watchglass_%[1]s %[3]s\nwatchglass_%[1]s %[4]v\n", name, help, kind, value)
	}
	t := stats.Totals
	metric("readers", "gauge", "Connected readers.", stats.Readers)
	unauthenticated, authenticated := s.admission.Counts()
	metric("unauthenticated_connections", "gauge", "Connections that are not authenticated, or wait for a request.", unauthenticated)
	metric("authenticated_connections", "gauge", "Connections of readers, and of requests to the Kubernetes API.", authenticated)
	metric("upstream_watches", "gauge", "Resources watched at the source.", len(stats.Resources))
	stale, longest := staleness(stats.Resources)
	metric("stale_resources", "gauge", "Cached resources that may have missed changes.", stale)
	metric("stale_seconds", "gauge", "Longest time for which a cached resource may have missed changes; 0 while all are current.", longest.Seconds())
	metric("connections_total", "counter", "Connections of readers, including those with refused tokens.", t.Connections)
	metric("refused_total", "counter", "Readers refused because of the number of readers.", t.Refused)
	metric("malformed_total", "counter", "Readers disconnected because of protocol violations.", t.Malformed)
	metric("upstream_streams_total", "counter", "Upstream watches started or resumed.", t.Streams)
	metric("upstream_lists_total", "counter", "Lists read from the source.", t.Lists)
	metric("upstream_failures_total", "counter", "Upstream watches that failed.", t.Failures)
	metric("upstream_expired_total", "counter", "Upstream watches that ended with 410.", t.Expired)
	metric("upstream_bytes_total", "counter", "Bytes of raw objects from the source.", t.BytesIn)
	metric("events_total", "counter", "Objects listed and changes applied.", t.Events)
	metric("faults_total", "counter", "Objects that could not be served.", t.Faults)
	metric("messages_total", "counter", "Messages sent to readers.", t.Messages)
	metric("bytes_total", "counter", "Bytes of messages sent to readers.", t.BytesOut)
	s.config.Connector.Limits().WriteMetrics(&b)
	if s.config.Metrics != nil {
		s.config.Metrics(&b)
	}
	plain(w, http.StatusOK, b.String())
}
