package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// readyTimeout is how long the source may take to answer.
const readyTimeout = 3 * time.Second

// alive answers /healthz: the process handles requests.
func alive(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok\n")
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"` // why not; empty when ready
}

// ready answers /readyz: readers that connect now can be served. Whoever
// accepts JSON gets it.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	answerReady(w, r, s.readiness(r.Context()))
}

// readyWithoutReasons answers /readyz for strangers.
func (s *Server) readyWithoutReasons(w http.ResponseWriter, r *http.Request) {
	state := s.readiness(r.Context())
	if !state.Ready {
		state.Reasons = []string{"reason withheld: ask the admin address"}
	}
	answerReady(w, r, state)
}

func answerReady(w http.ResponseWriter, r *http.Request, state readiness) {
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
	if state.Ready {
		plain(w, code, "ready\n")
		return
	}
	plain(w, code, "not ready: "+strings.Join(state.Reasons, "; ")+"\n")
}

func (s *Server) readiness(ctx context.Context) readiness {
	state := readiness{Reasons: []string{}}
	if s.draining.Load() || s.stopping.Err() != nil {
		state.Reasons = append(state.Reasons, "the server is shutting down")
	}
	if s.config.Ready != nil {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		if err := s.config.Ready(ctx); err != nil {
			state.Reasons = append(state.Reasons, "the source cannot be reached: "+err.Error())
		}
	}
	state.Ready = len(state.Reasons) == 0
	return state
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	io.WriteString(w, text)
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
	metric("upstream_watches", "gauge", "Resources being watched at the source.", len(stats.Resources))
	metric("connections_total", "counter", "Readers that connected, with or without a token that is accepted.", t.Connections)
	metric("refused_total", "counter", "Readers that were turned away because there were too many.", t.Refused)
	metric("malformed_total", "counter", "Readers that were closed because they broke the protocol.", t.Malformed)
	metric("upstream_streams_total", "counter", "Upstream watches started or resumed.", t.Streams)
	metric("upstream_lists_total", "counter", "Lists read from the source.", t.Lists)
	metric("upstream_failures_total", "counter", "Upstream watches that ended on their own.", t.Failures)
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
