package metrics

import (
	"math"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/audit"
	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
)

// Process returns collectors of the metrics of the process, the Go runtime and the build.
func Process(version string) []prometheus.Collector {
	build := gauge("build_info", "The version of this build; the value is 1.", "version", "goversion")
	return []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{[]metric{build}, func(send sample) { send(build, 1, version, runtime.Version()) }},
	}
}

// Listeners returns the metrics of a host's listeners.
func Listeners(failures func() uint64) prometheus.Collector {
	accepts := counter("accept_failures", "Connections that could not be accepted, such as without free file descriptors.")
	return &collector{[]metric{accepts}, func(send sample) { send(accepts, float64(failures())) }}
}

// Memory returns the metric of the memory that max-memory limits, in bytes.
func Memory(used func() int64) prometheus.Collector {
	bytes := gauge("memory_bytes", "Memory of the process that max-memory limits.")
	return &collector{[]metric{bytes}, func(send sample) { send(bytes, float64(used())) }}
}

// Limits returns the metrics of the limits: their values and the numbers of refusals.
func Limits(set *limit.Set) prometheus.Collector {
	values := gauge("limit", "The value of each resource limit: a count, bytes or seconds; +Inf for none.", "limit")
	refusals := counter("limit_refusals", "Requests, connections and messages refused, by the limit that acted.", "reason")
	return &collector{[]metric{values, refusals}, func(send sample) {
		for _, l := range limit.All() {
			send(values, limitValue(set, l), l.Name)
			if l.Counted() {
				send(refusals, float64(set.Refusals(l)), l.Name)
			}
		}
	}}
}

// limitValue returns the value of a limit in seconds, in bytes, or as a count. It returns
// infinity for limit.Unlimited.
func limitValue(set *limit.Set, l *limit.Limit) float64 {
	switch {
	case l.Unit == limit.Duration:
		return set.Duration(l).Seconds()
	case set.Value(l) == limit.Unlimited:
		return math.Inf(1)
	}
	return float64(set.Value(l))
}

// KubeAPI returns the metrics of a handler of the Kubernetes API.
func KubeAPI(h *kubeapi.Handler) prometheus.Collector {
	watches := gauge("kubeapi_watches", "Open watches of the Kubernetes API.")
	seats := gauge("kubeapi_request_seats", "Seats taken by other requests to the Kubernetes API, of max-requests.")
	waiting := gauge("kubeapi_waiting_requests", "Requests to the Kubernetes API that wait for a list or for a resource version.")
	requests := counter("kubeapi_requests", "Requests to the Kubernetes API that have ended.", "verb", "code")
	return &collector{[]metric{watches, seats, waiting, requests}, func(send sample) {
		stats := h.Stats()
		send(watches, float64(stats.Watches))
		send(seats, float64(stats.Seats))
		send(waiting, float64(stats.Waiting))
		for ended, n := range stats.Requests {
			send(requests, float64(n), ended.Verb, strconv.Itoa(ended.Code))
		}
	}}
}

// Reviews returns the metrics of a policy that uses kube-apiserver. Its parameter is a function,
// so that this package does not depend on the Kubernetes client.
func Reviews(read func() access.ReviewStats) prometheus.Collector {
	reviews := counter("reviews", "Reviews requested from kube-apiserver, by kind.", "kind")
	cached := gauge("cached_verdicts", "Verdicts of kube-apiserver that are cached, by decision.", "decision")
	return &collector{[]metric{reviews, cached}, func(send sample) {
		stats := read()
		send(reviews, float64(stats.TokenReviews), "token")
		send(reviews, float64(stats.AccessReviews), "access")
		send(cached, float64(stats.Grants), "accepted")
		send(cached, float64(stats.Refusals), "refused")
	}}
}

// Audit returns the metrics of the recorded decisions and of the audit log.
func Audit(r *audit.Recorder) prometheus.Collector {
	authentications := counter("authentications", "Tokens presented, by result. Withdrawn tokens belonged to connected clients.", "result")
	authorizations := counter("authorizations", "Reads requested by users, by result. Withdrawn are those that had been accepted.", "result")
	lines := counter("audit_events", "Lines written to the audit log.")
	failures := counter("audit_failures", "Events that could not be written to the audit log.")
	return &collector{[]metric{authentications, authorizations, lines, failures}, func(send sample) {
		stats := r.Stats()
		for result, n := range stats.Authentications {
			send(authentications, float64(n), result)
		}
		for result, n := range stats.Authorizations {
			send(authorizations, float64(n), result)
		}
		if stats.Log {
			send(lines, float64(stats.Events))
			send(failures, float64(stats.Failures))
		}
	}}
}

// Reloads returns the metrics of files that are reloaded when they change.
func Reloads(w *reload.Watcher) prometheus.Collector {
	reloads := counter("file_reloads", "Certificates, keys and tokens loaded again, by file and result.", "files", "result")
	return &collector{[]metric{reloads}, func(send sample) {
		for _, group := range w.Stats() {
			send(reloads, float64(group.Loads), group.Files, "loaded")
			send(reloads, float64(group.Failures), group.Files, "failed")
		}
	}}
}
