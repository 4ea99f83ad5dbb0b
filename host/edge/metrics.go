package edge

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/access/token"
)

// objectMetrics are the metrics of each object. Counters end with _total.
var objectMetrics = []struct {
	name, help string
	value      func(*report) int
}{
	{"readers", "Connected readers.", func(r *report) int { return r.Readers }},
	{"readers_limit", "Readers that may be connected at a time; more are refused.", func(r *report) int { return r.MaxReaders }},
	{"readers_stalled_total", "Readers disconnected because they did not accept pending data.", func(r *report) int { return r.Counters.ReadersStalled }},
	{"readers_rate_limited_total", "Readers disconnected because they exceeded the message rate.", func(r *report) int { return r.Counters.ReadersRateLimited }},
	{"feeds", "Connected connectors.", func(r *report) int { return len(r.Feeds.Connected) }},
	{"feeds_active", "Connectors that deliver; the others stand by.", (*report).active},
	{"memory_bytes", "Bytes of memory of the module and of pending responses.", func(r *report) int { return r.Memory.Module + r.Memory.Buffers }},
	{"unacknowledged_bytes", "Bytes sent to readers that they have not acknowledged.", func(r *report) int { return r.Memory.Unacknowledged }},
	{"restarts_total", "Replacements of the module to release memory.", func(r *report) int { return r.Counters.Restarts }},
	{"storage_bytes", "Bytes of storage in use.", func(r *report) int { return r.Storage.Bytes }},
}

// resourceMetrics are the metrics of each resource of each object.
var resourceMetrics = []struct {
	name, help string
	value      func(held) int
}{
	{"objects", "Objects held.", func(h held) int { return h.Objects }},
	{"live", "Whether the resource is current.", func(h held) int { return number(h.State == live) }},
	{"metadata_only", "Whether the resource is held without bodies, for lack of memory.", func(h held) int { return number(h.MetadataOnly) }},
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// metrics answers /metrics in the Prometheus text format with the current state of
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
	var b strings.Builder
	begin(&b, "up", "Whether the object answered in time.")
	for _, a := range all {
		if a.err != nil {
			fmt.Fprintf(&b, "# %q\n", a.err.Error())
		}
		fmt.Fprintf(&b, "watchglass_edge_up{cluster=%q,shard=%q} %d\n", c.backend.name, a.object, number(a.err == nil))
	}
	all = slices.DeleteFunc(all, func(a answered) bool { return a.err != nil })
	for _, m := range objectMetrics {
		begin(&b, m.name, m.help)
		for _, a := range all {
			fmt.Fprintf(&b, "watchglass_edge_%s{cluster=%q,shard=%q} %d\n", m.name, c.backend.name, a.object, m.value(a.report))
		}
	}
	for _, m := range resourceMetrics {
		begin(&b, m.name, m.help)
		for _, a := range all {
			for _, resource := range slices.Sorted(maps.Keys(a.report.Resources)) {
				fmt.Fprintf(&b, "watchglass_edge_%s{cluster=%q,shard=%q,resource=%q} %d\n", m.name, c.backend.name, a.object, resource, m.value(a.report.Resources[resource]))
			}
		}
	}
	plain(w, http.StatusOK, b.String())
}

func begin(b *strings.Builder, name, help string) {
	kind := "gauge"
	if strings.HasSuffix(name, "_total") {
		kind = "counter"
	}
	fmt.Fprintf(b, "# HELP watchglass_edge_%s %s\n# TYPE watchglass_edge_%[1]s %[3]s\n", name, help, kind)
}
