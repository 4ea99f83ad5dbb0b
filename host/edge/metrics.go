package edge

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/access/token"
)

// A metric with the same meaning as a connector's has the same name. Other names start
// with watchglass_edge. Names of counters end with _total. Rows with the same name are
// adjacent.

const refusalsHelp = "Readers disconnected, by the limit that acted."

// objectMetrics are the metrics of each object.
var objectMetrics = []struct {
	name, help   string
	label, named string // a further label and its value; empty for none
	value        func(*report) int
}{
	{"watchglass_readers", "Connected readers.", "", "", func(r *report) int { return r.Readers }},
	{"watchglass_memory_bytes", "Bytes of memory that max-memory limits: of the module and of pending responses.", "", "", func(r *report) int { return r.Memory.Module + r.Memory.Buffers }},
	{"watchglass_limit", "Value of each limit.", "limit", "max-memory", func(r *report) int { return r.Memory.Limit }},
	{"watchglass_limit", "Value of each limit.", "limit", "max-readers", func(r *report) int { return r.MaxReaders }},
	{"watchglass_limit_refusals_total", refusalsHelp, "reason", "write-timeout", func(r *report) int { return r.Counters.ReadersStalled }},
	{"watchglass_limit_refusals_total", refusalsHelp, "reason", "max-message-rate", func(r *report) int { return r.Counters.ReadersRateLimited }},
	{"watchglass_edge_feeds", "Connected connectors.", "", "", func(r *report) int { return len(r.Feeds.Connected) }},
	{"watchglass_edge_feeds_active", "Connectors that deliver; the others stand by.", "", "", (*report).active},
	{"watchglass_edge_unacknowledged_bytes", "Bytes sent to readers that they have not acknowledged.", "", "", func(r *report) int { return r.Memory.Unacknowledged }},
	{"watchglass_edge_restarts_total", "Replacements of the module to release memory.", "", "", func(r *report) int { return r.Counters.Restarts }},
	{"watchglass_edge_storage_bytes", "Bytes of storage in use.", "", "", func(r *report) int { return r.Storage.Bytes }},
}

const terminationsHelp = "Watches ended with 410, by reason: slow_consumer or overtaken by the history."

// resourceMetrics are the metrics of each resource of each object. Negative values are
// left out.
var resourceMetrics = []struct {
	name, help string
	reason     string // of the label; empty for none
	value      func(h held, now time.Time) int
}{
	{"watchglass_objects", "Cached objects.", "", func(h held, _ time.Time) int { return h.Objects }},
	{"watchglass_cache_bytes", "Memory for objects and history.", "", func(h held, _ time.Time) int { return h.Cache.UsedBytes }},
	{"watchglass_history_events", "Changes in the history, which watches resume from.", "", func(h held, _ time.Time) int { return h.Cache.History }},
	{"watchglass_progress_age_seconds", "Time since the connector last reported progress.", "", held.age},
	{"watchglass_stale_seconds", "Time for which a cached resource may have missed changes; 0 while it is current.", "", held.stale},
	{"watchglass_events_total", "Changes applied.", "", func(h held, _ time.Time) int { return h.Cache.Events }},
	{"watchglass_upstream_lists_total", "Lists read from a connector.", "", func(h held, _ time.Time) int { return h.Cache.Relists }},
	{"watchglass_upstream_failures_total", "Upstream watches that failed, by reason: expired (410).", "expired", func(h held, _ time.Time) int { return h.Cache.Expired }},
	{"watchglass_watch_terminations_total", terminationsHelp, "slow_consumer", func(h held, _ time.Time) int { return h.Cache.TerminatedWatches }},
	{"watchglass_watch_terminations_total", terminationsHelp, "overtaken", func(h held, _ time.Time) int { return h.Cache.OvertakenWatches }},
	{"watchglass_watch_stalls_total", "Times that a watch paused because its consumer accepted no events.", "", func(h held, _ time.Time) int { return h.Cache.Stalls }},
	{"watchglass_watch_conflations_total", "Changes merged into later ones of the same object.", "", func(h held, _ time.Time) int { return h.Cache.Conflations }},
	{"watchglass_watch_initial_events_total", "Initial events processed for watches.", "", func(h held, _ time.Time) int { return h.Cache.InitialEvents }},
	{"watchglass_edge_live", "Whether the resource is current.", "", func(h held, _ time.Time) int { return number(h.State == live) }},
	{"watchglass_edge_metadata_only", "Whether the resource is held without bodies, for lack of memory.", "", func(h held, _ time.Time) int { return number(h.MetadataOnly) }},
}

// age returns the seconds since the last progress, or -1 if there was none.
func (h held) age(now time.Time) int {
	if h.LastProgress == 0 {
		return -1
	}
	return max(0, int(now.Sub(time.UnixMilli(h.LastProgress)).Seconds()))
}

// stale returns the seconds since the last progress if it is due, 0 if it is not, and -1
// if there was none.
func (h held) stale(now time.Time) int {
	if h.State == live {
		return 0
	}
	return h.age(now)
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// metrics serves /metrics in the Prometheus text format with the current state of
// the objects, because the worker has no state between requests. It reports
// unreachable objects as down, and the others as usual. The counters include every
// object of the cluster, so the token must grant all of them.
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
			e.sample(m.name, m.help, m.value(a.report), "object", a.object, m.label, m.named)
		}
	}
	now := c.now()
	for _, m := range resourceMetrics {
		for _, a := range all {
			for _, resource := range slices.Sorted(maps.Keys(a.report.Resources)) {
				if value := m.value(a.report.Resources[resource], now); value >= 0 {
					e.sample(m.name, m.help, value, "object", a.object, "resource", resource, "reason", m.reason)
				}
			}
		}
	}
	plain(w, http.StatusOK, e.text.String())
}

// exposition writes metrics of a cluster in the Prometheus text format.
type exposition struct {
	cluster string
	text    strings.Builder
	last    string // name of the last sample
}

// sample writes a value with the label cluster and with pairs of other labels and their
// values. It leaves labels with an empty value out. Samples of one name follow each other.
func (e *exposition) sample(name, help string, number int, labels ...string) {
	if name != e.last {
		kind := "gauge"
		if strings.HasSuffix(name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(&e.text, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind)
		e.last = name
	}
	fmt.Fprintf(&e.text, "%s{cluster=%q", name, e.cluster)
	for i := 0; i < len(labels); i += 2 {
		if labels[i+1] != "" {
			fmt.Fprintf(&e.text, ",%s=%q", labels[i], labels[i+1])
		}
	}
	fmt.Fprintf(&e.text, "} %d\n", number)
}
