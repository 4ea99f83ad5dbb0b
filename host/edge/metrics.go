package edge

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/limit"
)

// If a metric of the edge has the same meaning as a metric of a connector, both have the
// same name. The names of other metrics start with watchglass_edge. Names of counters end
// with _total. Samples with the same name are adjacent. OPERATIONS.md lists the metrics of
// a connector that the edge lacks.

// family is a metric that every Durable Object has. The field send is a function that
// passes the samples of one report to its parameter send.
type family struct {
	name, help string
	send       func(send func(value int, labels ...string), r *report)
}

// one returns a family with one series per object.
func one(name, help string, value func(r *report) int, labels ...string) family {
	return family{name, help, func(send func(int, ...string), r *report) { send(value(r), labels...) }}
}

// each returns a family with one series per object and value of a label.
func each(name, help, label string, values func(r *report) map[string]int) family {
	return family{name, help, func(send func(int, ...string), r *report) {
		all := values(r)
		for _, value := range slices.Sorted(maps.Keys(all)) {
			send(all[value], label, value)
		}
	}}
}

// objectMetrics are the metrics of each Durable Object.
var objectMetrics = []family{
	one("watchglass_readers", "Connected readers.", func(r *report) int { return r.Readers }),
	one("watchglass_connections_total", "Readers that have connected, after the worker has checked their token.", func(r *report) int { return r.Metrics.Connections }),
	one("watchglass_refused_total", "Readers that were refused because there were too many.", func(r *report) int { return r.Metrics.Refused }),
	one("watchglass_malformed_total", "Readers that were disconnected for a violation of the protocol.", func(r *report) int { return r.Metrics.Malformed }),
	one("watchglass_messages_total", "Messages sent to readers.", func(r *report) int { return r.Metrics.Messages }),
	one("watchglass_bytes_total", "Bytes of messages sent to readers.", func(r *report) int { return r.Metrics.Bytes }),
	each("watchglass_subscription_errors_total", "Subscriptions of readers that were refused or ended with an error, by its code; after 410 the reader lists again.",
		"code", func(r *report) map[string]int { return r.Metrics.SubscriptionErrors }),
	one("watchglass_upstream_watches", "Resources being watched at the connector.", (*report).watched),
	one("watchglass_kubeapi_watches", "Open watches of the Kubernetes API.", func(r *report) int { return r.Requests.Watches }),
	one("watchglass_kubeapi_waiting_requests", "Requests to the Kubernetes API that wait for a list or for a resource version.", func(r *report) int { return r.Requests.Waiting }),
	{"watchglass_kubeapi_requests_total", "Requests to the Kubernetes API that have reached the object and ended.", sendRequests},
	one("watchglass_memory_bytes", "Bytes of memory that max-memory limits: of the module and of pending responses.", func(r *report) int { return r.Memory.Module + r.Memory.Buffers }),
	one("watchglass_limit", "Value of each limit.", func(r *report) int { return r.Memory.Limit }, "limit", "max-memory"),
	one("watchglass_limit", "Value of each limit.", func(r *report) int { return r.MaxReaders }, "limit", "max-readers"),
	each("watchglass_limit_refusals_total", "Readers, messages and subscriptions refused, by the limit that acted.", "reason", (*report).refusals),
	one("watchglass_edge_feeds", "Connected connectors.", func(r *report) int { return len(r.Feeds.Connected) }),
	one("watchglass_edge_feeds_active", "Connectors that deliver; the others stand by.", (*report).active),
	one("watchglass_edge_unacknowledged_bytes", "Bytes sent to readers that they have not acknowledged.", func(r *report) int { return r.Memory.Unacknowledged }),
	one("watchglass_edge_restarts_total", "Replacements of the module to release memory.", func(r *report) int { return r.Counters.Restarts }),
	one("watchglass_edge_storage_bytes", "Bytes of storage in use.", func(r *report) int { return r.Storage.Bytes }),
}

// watched returns the number of resources whose state is not closed.
func (r *report) watched() int {
	n := 0
	for _, h := range r.Resources {
		n += number(h.State != "closed")
	}
	return n
}

// refusals returns the number of refusals by limit.
func (r *report) refusals() map[string]int {
	all := map[string]int{
		limit.MaxReaders.Name: 0, limit.WriteTimeout.Name: r.Counters.ReadersStalled, limit.MaxMessageRate.Name: r.Counters.ReadersRateLimited,
	}
	for _, l := range limit.All() {
		if n, ok := r.Metrics.Refusals[l.Name]; ok {
			all[l.Name] += n
		}
	}
	return all
}

func sendRequests(send func(int, ...string), r *report) {
	for _, verb := range slices.Sorted(maps.Keys(r.Metrics.Requests)) {
		codes := r.Metrics.Requests[verb]
		for _, code := range slices.Sorted(maps.Keys(codes)) {
			send(codes[code], "verb", verb, "code", code)
		}
	}
}

const terminationsHelp = "Watches ended with 410, by reason: slow_consumer or overtaken by the history."

// resource contains the data for the metrics of one resource of a Durable Object.
type resource struct {
	held
	subscribed
	measured
	now time.Time
}

// resourceMetrics are the metrics of each resource of each object. Negative values are
// omitted.
var resourceMetrics = []struct {
	name, help string
	reason     string // value of the label reason; empty for none
	value      func(r resource) int
}{
	{"watchglass_objects", "Cached objects.", "", func(r resource) int { return r.Objects }},
	{"watchglass_cache_bytes", "Memory for objects and history.", "", func(r resource) int { return r.Cache.UsedBytes }},
	{"watchglass_history_events", "Changes in the history, which watches resume from.", "", func(r resource) int { return r.Cache.History }},
	{"watchglass_resource_readers", "Readers with a subscription.", "", func(r resource) int { return r.Readers }},
	{"watchglass_subscriptions", "Subscriptions of all readers.", "", func(r resource) int { return r.Subscriptions }},
	{"watchglass_progress_age_seconds", "Time since the connector last reported progress.", "", resource.age},
	{"watchglass_stale_seconds", "Time for which a cached resource may have missed changes; 0 while it is current.", "", resource.stale},
	{"watchglass_upstream_streams_total", "Upstream watches started or resumed.", "", func(r resource) int { return r.Cache.Relists + r.Cache.Resumes }},
	{"watchglass_upstream_lists_total", "Lists read from a connector.", "", func(r resource) int { return r.Cache.Relists }},
	{"watchglass_upstream_failures_total", "Upstream watches that failed, by reason: expired (410).", "expired", func(r resource) int { return r.Cache.Expired }},
	{"watchglass_upstream_bytes_total", "Bytes of objects received from a connector.", "", func(r resource) int { return r.Bytes }},
	{"watchglass_events_total", "Changes applied.", "", func(r resource) int { return r.Cache.Events }},
	{"watchglass_faults_total", "Objects that could not be served, such as unreadable ones.", "", func(r resource) int { return r.Faults }},
	{"watchglass_watch_terminations_total", terminationsHelp, "slow_consumer", func(r resource) int { return r.Cache.TerminatedWatches }},
	{"watchglass_watch_terminations_total", terminationsHelp, "overtaken", func(r resource) int { return r.Cache.OvertakenWatches }},
	{"watchglass_watch_stalls_total", "Times that a watch paused because its consumer accepted no events.", "", func(r resource) int { return r.Cache.Stalls }},
	{"watchglass_watch_conflations_total", "Changes merged into later ones of the same object.", "", func(r resource) int { return r.Cache.Conflations }},
	{"watchglass_watch_initial_events_total", "Initial events processed for watches.", "", func(r resource) int { return r.Cache.InitialEvents }},
	{"watchglass_edge_live", "Whether the resource is current.", "", func(r resource) int { return number(r.State == live) }},
	{"watchglass_edge_metadata_only", "Whether the resource is held without bodies, for lack of memory.", "", func(r resource) int { return number(r.MetadataOnly) }},
}

// age returns the seconds since the last progress, or -1 if there was none.
func (r resource) age() int {
	if r.LastProgress == 0 {
		return -1
	}
	return max(0, int(r.now.Sub(time.UnixMilli(r.LastProgress)).Seconds()))
}

// stale returns 0 if the resource is live. Otherwise, it returns the seconds since the last
// progress, or -1 if there was none.
func (r resource) stale() int {
	if r.State == live {
		return 0
	}
	return r.age()
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// metrics serves /metrics in the Prometheus text format with the current state of the
// Durable Objects, because the worker has no state between requests. It reports unreachable
// objects as down, and other objects as usual. The counters cover every Kubernetes object
// of the cluster, so the token must grant all resources and namespaces.
func (c *cluster) metrics(w http.ResponseWriter, r *http.Request, user *access.User) {
	if !token.Unrestricted(user) {
		fail(w, api.Forbidden("the metrics count the objects of all resources and namespaces, and the token does not grant all of them: "+
			"mint one with --resources '*' --namespaces '*'"))
		return
	}
	all := c.backend.reports(r.Context())
	e := exposition{cluster: c.backend.name}
	e.sample("watchglass_build_info", "The version of this build; the value is 1.", 1, "version", c.version, "goversion", runtime.Version())
	for _, a := range all {
		if a.err != nil {
			fmt.Fprintf(&e.text, "# %q\n", a.err.Error())
		}
		e.sample("watchglass_edge_up", "Whether the object responded in time.", number(a.err == nil), "object", a.object)
	}
	all = slices.DeleteFunc(all, func(a answered) bool { return a.err != nil })
	for _, m := range objectMetrics {
		for _, a := range all {
			m.send(func(value int, labels ...string) {
				e.sample(m.name, m.help, value, append([]string{"object", a.object}, labels...)...)
			}, a.report)
		}
	}
	now := c.now()
	for _, m := range resourceMetrics {
		for _, a := range all {
			for _, name := range slices.Sorted(maps.Keys(a.report.Resources)) {
				r := resource{a.report.Resources[name], a.report.Subscriptions[name], a.report.Metrics.Resources[name], now}
				if value := m.value(r); value >= 0 {
					e.sample(m.name, m.help, value, "object", a.object, "resource", name, "reason", m.reason)
				}
			}
		}
	}
	e.histograms(all)
	plain(w, http.StatusOK, e.text.String())
}

// exposition collects the metrics of a cluster in the Prometheus text format.
type exposition struct {
	cluster string
	text    strings.Builder
	last    string // name of the last sample
}

// histograms writes the durations that the objects have measured.
func (e *exposition) histograms(all []answered) {
	for _, a := range all {
		e.histogram("watchglass_event_delivery_seconds", "Time from the receipt of a change from the connector to its write to a reader's socket.",
			a.report.Metrics.Delivery, "object", a.object)
	}
	for _, a := range all {
		for _, name := range slices.Sorted(maps.Keys(a.report.Metrics.Resources)) {
			e.histogram("watchglass_initial_sync_seconds", "Time from the first use of a resource to the end of its first list.",
				a.report.Metrics.Resources[name].InitialSync, "object", a.object, "resource", name)
		}
	}
	for _, a := range all {
		for _, code := range slices.Sorted(maps.Keys(a.report.Metrics.Lists)) {
			e.histogram("watchglass_list_duration_seconds", "Duration of list requests to the Kubernetes API in the object, to the last page.",
				a.report.Metrics.Lists[code], "object", a.object, "code", code)
		}
	}
}

func (e *exposition) histogram(name, help string, h histogram, labels ...string) {
	if len(h.Counts) != len(h.Bounds)+1 {
		return // the object has not measured anything
	}
	e.describe(name, help, "histogram")
	n := 0
	for i, count := range h.Counts {
		n += count
		bound := "+Inf"
		if i < len(h.Bounds) {
			bound = strconv.FormatFloat(h.Bounds[i], 'g', -1, 64)
		}
		e.line(name+"_bucket", strconv.Itoa(n), slices.Concat(labels, []string{"le", bound})...)
	}
	e.line(name+"_sum", strconv.FormatFloat(h.Sum, 'g', -1, 64), labels...)
	e.line(name+"_count", strconv.Itoa(n), labels...)
}

// sample writes a value of a gauge or counter. The caller writes all samples with the
// same name consecutively.
func (e *exposition) sample(name, help string, number int, labels ...string) {
	kind := "gauge"
	if strings.HasSuffix(name, "_total") {
		kind = "counter"
	}
	e.describe(name, help, kind)
	e.line(name, strconv.Itoa(number), labels...)
}

// describe writes the HELP and TYPE lines of a metric, unless the previous sample has the
// same name.
func (e *exposition) describe(name, help, kind string) {
	if name != e.last {
		fmt.Fprintf(&e.text, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind)
		e.last = name
	}
}

// line writes a value with the label cluster and the given labels, which are pairs of a
// name and a value. It omits labels with an empty value.
func (e *exposition) line(name, value string, labels ...string) {
	fmt.Fprintf(&e.text, "%s{cluster=%q", name, e.cluster)
	for i := 0; i < len(labels); i += 2 {
		if labels[i+1] != "" {
			fmt.Fprintf(&e.text, ",%s=%q", labels[i], labels[i+1])
		}
	}
	fmt.Fprintf(&e.text, "} %s\n", value)
}
