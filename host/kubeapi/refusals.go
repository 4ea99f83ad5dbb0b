package kubeapi

import (
	"context"
	"hash/maphash"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/limit"
)

// refusals delays the responses to a client that is refused again and again. Such a
// client ignores Retry-After, and thousands of refusals per second take as much processor
// time as useful requests. Clients share a fixed number of counters, so that more clients
// need no more memory. A client that shares a counter with a hasty client receives its
// own refusals later.
type refusals struct {
	limits  *limit.Set
	seed    maphash.Seed
	delayed atomic.Int64

	mu       sync.Mutex
	counters [256]struct {
		since time.Time // start of the second that is counted
		sent  int       // refusals sent since then without a delay
	}
}

const (
	refusalsPerSecond = 20 // of one client, without a delay
	refusalDelay      = time.Second
)

func newRefusals(limits *limit.Set) *refusals {
	return &refusals{limits: limits, seed: maphash.MakeSeed()}
}

// first reports whether a refusal of the client is one of the first in a second.
func (r *refusals) first(client string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.counters[maphash.String(r.seed, client)%uint64(len(r.counters))]
	if now := time.Now(); now.Sub(c.since) >= time.Second {
		c.since, c.sent = now, 0
	}
	c.sent++
	return c.sent <= refusalsPerSecond
}

// pace waits before a refusal is sent if the client has received too many of them. At
// most max-waiting-requests refusals wait. Further ones are sent immediately.
func (r *refusals) pace(ctx context.Context, client string, status *api.Status) {
	if status.Code != http.StatusTooManyRequests || r.first(client) {
		return
	}
	defer r.delayed.Add(-1)
	if r.delayed.Add(1) > r.limits.Value(limit.MaxWaitingRequests) {
		return
	}
	timer := time.NewTimer(refusalDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
