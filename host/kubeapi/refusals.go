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

// refusals delays further 429 responses to a client that ignores Retry-After. Without
// delays, thousands of refusals per second would take as much processor time as useful
// requests. A fixed number of counters serves all clients, so that memory does not grow
// with the number of clients. If a client shares a counter with a client above the limit,
// its 429 responses are delayed too.
type refusals struct {
	limits  *limit.Set
	seed    maphash.Seed
	delayed atomic.Int64

	mu       sync.Mutex
	counters [256]struct {
		since time.Time // start of the second in which refusals are counted
		sent  int       // refusals in that second
	}
}

const (
	refusalsPerSecond = 20 // of one client, without a delay
	refusalDelay      = time.Second
)

func newRefusals(limits *limit.Set) *refusals {
	return &refusals{limits: limits, seed: maphash.MakeSeed()}
}

// first counts a refusal, and reports whether the client has received at most
// refusalsPerSecond refusals in the current second.
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

// pace delays a 429 by refusalDelay if the client receives more than refusalsPerSecond
// refusals. At most max-waiting-requests responses wait at a time; further responses are
// not delayed.
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
