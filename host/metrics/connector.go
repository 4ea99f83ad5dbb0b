package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchglass/watchglass/host/connector"
)

var (
	readers            = gauge("readers", "Connected readers.")
	connections        = counter("connections", "Readers that have connected, before their token was checked.")
	refused            = counter("refused", "Readers that were refused because of the limits of readers or memory.")
	malformed          = counter("malformed", "Readers that were disconnected for a violation of the protocol.")
	messages           = counter("messages", "Messages sent to readers.")
	sentBytes          = counter("bytes", "Bytes of messages sent to readers.")
	subscriptionErrors = counter("subscription_errors", "Subscriptions of readers that were refused or ended with an error, by its code; after 410 the reader lists again.", "code")
	upstreamWatches    = gauge("upstream_watches", "Resources being watched at the source.")
	objects            = gauge("objects", "Cached objects.", "resource")
	cacheBytes         = gauge("cache_bytes", "Memory for objects and history.", "resource")
	historyEvents      = gauge("history_events", "Changes in the history, which watches resume from.", "resource")
	resourceReaders    = gauge("resource_readers", "Readers with a subscription.", "resource")
	subscriptions      = gauge("subscriptions", "Subscriptions of all readers.", "resource")
	progressAge        = gauge("progress_age_seconds", "Time since the source last sent an event or a bookmark.", "resource")
	staleSeconds       = gauge("stale_seconds", "Time for which a cached resource may have missed changes; 0 while it is current.", "resource")
	upstreamStreams    = counter("upstream_streams", "Upstream watches started or resumed.", "resource")
	upstreamLists      = counter("upstream_lists", "Lists read from the source.", "resource")
	upstreamFailures   = counter("upstream_failures", "Upstream watches that failed, by reason: expired (410) or error.", "resource", "reason")
	upstreamBytes      = counter("upstream_bytes", "Bytes of objects received from the source.", "resource")
	events             = counter("events", "Objects listed and changes applied.", "resource")
	faults             = counter("faults", "Objects that could not be served, such as unreadable ones.", "resource")
	divergences        = counter("divergences", "Listed objects that a cache should have had in the same version, and had not.", "resource")
	terminations       = counter("watch_terminations", "Watches ended with 410, by reason: slow_consumer or overtaken by the history.", "resource", "reason")
	stalls             = counter("watch_stalls", "Times that a watch paused because its consumer accepted no events.", "resource")
	conflations        = counter("watch_conflations", "Changes merged into later ones of the same object.", "resource")
	initialEvents      = counter("watch_initial_events", "Initial events processed for watches.", "resource")
)

// Connector returns the metrics of a connector.
func Connector(c *connector.Connector) prometheus.Collector {
	return &collector{
		[]metric{
			readers, connections, refused, malformed, messages, sentBytes, subscriptionErrors, upstreamWatches,
			objects, cacheBytes, historyEvents, resourceReaders, subscriptions, progressAge, staleSeconds,
			upstreamStreams, upstreamLists, upstreamFailures, upstreamBytes, events, faults, divergences,
			terminations, stalls, conflations, initialEvents,
		},
		func(send sample) {
			stats := c.Stats()
			send(readers, float64(stats.Readers))
			send(connections, float64(stats.Totals.Connections))
			send(refused, float64(stats.Totals.Refused))
			send(malformed, float64(stats.Totals.Malformed))
			send(messages, float64(stats.Totals.Messages))
			send(sentBytes, float64(stats.Totals.BytesOut))
			for code, n := range stats.Errors {
				send(subscriptionErrors, float64(n), strconv.Itoa(code))
			}
			send(upstreamWatches, float64(len(stats.Resources)))
			for _, r := range stats.Resources {
				sendState(send, &r)
			}
			for resource, totals := range stats.Counted {
				sendTotals(send, resource.String(), &totals)
			}
		},
	}
}

// sendState sends the metrics of a resource, if the connector has listed the resource.
func sendState(send sample, r *connector.ResourceStats) {
	if !r.Ready {
		return
	}
	name := r.Resource.String()
	send(objects, float64(r.Objects), name)
	send(cacheBytes, float64(r.Bytes), name)
	send(historyEvents, float64(r.History), name)
	send(resourceReaders, float64(r.Readers), name)
	send(subscriptions, float64(r.Subscriptions), name)
	send(progressAge, r.Behind.Seconds(), name)
	since, _ := r.Stale()
	send(staleSeconds, since.Seconds(), name)
}

func sendTotals(send sample, resource string, t *connector.ResourceTotals) {
	send(upstreamStreams, float64(t.Streams), resource)
	send(upstreamLists, float64(t.Lists), resource)
	send(upstreamFailures, float64(t.Expired), resource, "expired")
	send(upstreamFailures, float64(t.Failures-t.Expired), resource, "error")
	send(upstreamBytes, float64(t.BytesIn), resource)
	send(events, float64(t.Events), resource)
	send(faults, float64(t.Faults), resource)
	send(divergences, float64(t.Diverged), resource)
	send(terminations, float64(t.Watches.Terminated), resource, "slow_consumer")
	send(terminations, float64(t.Watches.Overtaken), resource, "overtaken")
	send(stalls, float64(t.Watches.Stalls), resource)
	send(conflations, float64(t.Watches.Conflations), resource)
	send(initialEvents, float64(t.Watches.InitialEvents), resource)
}

// Admission returns a collector of the metrics of a server's connections. The function
// counts returns the numbers of unauthenticated and authenticated connections.
func Admission(counts func() (unauthenticated, authenticated int)) prometheus.Collector {
	before := gauge("unauthenticated_connections", "Connections that are not authenticated, or wait for a request.")
	after := gauge("authenticated_connections", "Connections of readers, and of requests to the Kubernetes API.")
	return &collector{[]metric{before, after}, func(send sample) {
		unauthenticated, authenticated := counts()
		send(before, float64(unauthenticated))
		send(after, float64(authenticated))
	}}
}
