package connector

import (
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
)

// Stats is what a connector does at one moment.
type Stats struct {
	Readers   int             // connections
	Resources []ResourceStats // one per upstream watch, sorted by name
	Totals    Totals
	// ListBytes is the memory that lists of the Kubernetes API hold while they are
	// being sent.
	ListBytes int
}

// Totals count since the connector was made.
type Totals struct {
	Connections uint64 // of readers, from before their Hello on
	Refused     uint64 // readers turned away because there were too many
	Malformed   uint64 // readers closed because they broke the protocol, tokens apart
	Streams     uint64 // upstream watches started, resumed ones included
	Lists       uint64 // of them, or within them, those that listed
	Failures    uint64 // upstream watches that ended on their own
	Expired     uint64 // of them, those that ended with 410
	Events      uint64 // objects listed and changes applied
	Faults      uint64 // of them, those that could not be served
	BytesIn     uint64 // of raw values from the source
	Messages    uint64 // sent to readers
	BytesOut    uint64 // of those messages
}

// ResourceStats is one upstream watch.
type ResourceStats struct {
	Resource        api.Resource
	Readers         int // connections with a subscription
	Ready           bool
	Objects         int
	ResourceVersion api.ResourceVersion
	Bytes           int           // of memory for objects and history
	Behind          time.Duration // since the source was last heard of
	// Failures is how often in a row the source failed, and Err why it last
	// did. Both are zero while it delivers.
	Failures int
	Err      error
}

// staleAfter is longer than a source may take to report progress (source.Sink).
const staleAfter = 15 * time.Second

// Stale returns for how long a cached collection may have missed changes, and why.
// The reason is empty while the collection is current.
func (s ResourceStats) Stale() (since time.Duration, reason string) {
	switch {
	case s.Err != nil:
		return s.Behind, s.Err.Error()
	case s.Behind > staleAfter:
		return s.Behind, "the source has reported no progress"
	}
	return 0, ""
}

// Stats takes a snapshot.
func (c *Connector) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{Readers: c.connected, Totals: c.totals, ListBytes: c.listBytes}
	for _, col := range c.collections {
		s.Resources = append(s.Resources, ResourceStats{
			Resource:        col.resource,
			Readers:         len(col.readers),
			Ready:           col.cacher.Ready(),
			Objects:         col.cacher.Len(),
			ResourceVersion: col.cacher.ResourceVersion(),
			Bytes:           col.cacher.Heap().UsedBytes(),
			Behind:          time.Duration(max(0, c.now()-col.cacher.Progressed())) * time.Millisecond,
			Failures:        col.status.failures,
			Err:             col.status.err,
		})
	}
	slices.SortFunc(s.Resources, func(a, b ResourceStats) int {
		return strings.Compare(a.Resource.String(), b.Resource.String())
	})
	return s
}

// Sent counts what one reader was sent.
type Sent struct{ Messages, Bytes uint64 }

// ReaderStats is one connection.
type ReaderStats struct {
	User          string // empty before its Hello
	Since         time.Time
	Sent          Sent
	Subscriptions []session.State
}

// Readers are the connections there are, the oldest first.
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
