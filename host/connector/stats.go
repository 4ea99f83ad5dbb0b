package connector

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// Stats describes a connector at one point in time.
type Stats struct {
	Readers   int             // number of connections
	Resources []ResourceStats // one per upstream watch, sorted by name
	Totals    Totals
	// Counted contains the counters of each resource that has been listed, even after its
	// upstream watch has ended.
	Counted map[api.Resource]ResourceTotals
	// Errors counts subscriptions that were refused or ended, by the code of the status.
	Errors map[int]uint64
	// ListBytes is the memory, in bytes, of the Kubernetes API lists that are being sent.
	ListBytes int
}

// Totals are counters since the connector was created.
type Totals struct {
	Connections uint64 // connections of readers, including those without a Hello
	Refused     uint64 // readers refused by max-readers or max-memory
	Malformed   uint64 // readers disconnected for protocol violations, except for refused tokens
	Messages    uint64 // messages sent to readers
	BytesOut    uint64 // bytes of messages sent to readers
}

// ResourceTotals are counters of one resource since the connector was created.
type ResourceTotals struct {
	Streams  uint64         // upstream watches started, including resumed ones
	Lists    uint64         // lists that upstream watches have begun
	Failures uint64         // upstream watches that failed
	Expired  uint64         // failures with 410
	Events   uint64         // listed objects and applied changes
	Faults   uint64         // events that could not be served
	Diverged uint64         // listed versions that the cache lacked although it should have contained them
	BytesIn  uint64         // bytes of raw values from the source
	Watches  watcher.Counts // counts of the watches of readers and of the Kubernetes API
}

// ResourceStats describes one upstream watch.
type ResourceStats struct {
	Resource        api.Resource
	Readers         int // connections with a subscription
	Subscriptions   int // subscriptions of all readers
	Ready           bool
	Objects         int
	History         int // changes in the history
	ResourceVersion api.ResourceVersion
	Bytes           int           // memory for objects and history
	Behind          time.Duration // time since the source last sent data
	// Failures is the number of consecutive failures of the source, and Err is the error
	// of the last failure. Both are zero while the source delivers data.
	Failures int
	Err      error
}

// staleAfter is the time without progress after which a collection is stale. It exceeds
// the maximum interval of progress reports (source.Sink).
const staleAfter = 15 * time.Second

// Stale returns how long a cached collection may have been missing changes, and the reason.
// It returns zero and an empty reason while the collection is current.
func (s ResourceStats) Stale() (since time.Duration, reason string) {
	switch {
	case s.Err != nil:
		return s.Behind, s.Err.Error()
	case s.Behind > staleAfter:
		return s.Behind, "the source has reported no progress"
	}
	return 0, ""
}

// Stats returns the current statistics.
func (c *Connector) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{Readers: c.connected, Totals: c.totals, Errors: maps.Clone(c.errors), ListBytes: c.listBytes, Counted: map[api.Resource]ResourceTotals{}}
	for resource, totals := range c.counted {
		s.Counted[resource] = *totals
	}
	for _, col := range c.collections {
		counted := s.Counted[col.resource]
		counted.Watches.Add(col.cacher.Watches().Counts())
		s.Counted[col.resource] = counted
		s.Resources = append(s.Resources, ResourceStats{
			Resource:        col.resource,
			Readers:         len(col.readers),
			Subscriptions:   col.subscriptions,
			Ready:           col.cacher.Ready(),
			Objects:         col.cacher.State().Len(),
			History:         col.cacher.Window().End() - col.cacher.Window().Start(),
			ResourceVersion: col.cacher.ResourceVersion(),
			Bytes:           col.cacher.Arena().UsedBytes(),
			Behind:          time.Duration(max(0, c.now()-col.cacher.Upstream().Progressed())) * time.Millisecond,
			Failures:        col.status.failures,
			Err:             col.status.err,
		})
	}
	slices.SortFunc(s.Resources, func(a, b ResourceStats) int {
		return strings.Compare(a.Resource.String(), b.Resource.String())
	})
	return s
}

// countErrors updates Stats.Errors with the subscription statuses in a message to a reader.
// The caller holds the lock.
func (c *Connector) countErrors(message []byte) {
	for len(message) > 0 {
		kind, payload, rest, err := wire.Next(message)
		if err != nil {
			return
		}
		var f wire.SubscriptionStatus
		if kind == wire.TypeSubscriptionStatus && f.Parse(payload) == nil && f.Subscription != 0 {
			c.errors[f.Status.Code]++
		}
		message = rest
	}
}

// Sent counts the output to one reader.
type Sent struct{ Messages, Bytes uint64 }

// ReaderStats describes one connection.
type ReaderStats struct {
	User          string // empty before its Hello
	Since         time.Time
	Sent          Sent
	Subscriptions []session.State
}

// Readers describes the open connections, oldest first.
func (c *Connector) Readers() []ReaderStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]ReaderStats, 0, len(c.readers))
	for r := range c.readers {
		stats := ReaderStats{Since: r.since, Sent: r.sent, Subscriptions: r.session.States()}
		if r.user != nil {
			stats.User = r.user.Name
		}
		all = append(all, stats)
	}
	slices.SortFunc(all, func(a, b ReaderStats) int { return a.Since.Compare(b.Since) })
	return all
}
