package kubeapi

import (
	"context"
	"hash/maphash"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/limit"
)

// refusals delay the responses to a client that is refused again and again. Such a client
// ignores Retry-After, and thousands of refusals per second take as much processor time
// as useful requests. Clients share a fixed number of limiters, so that no client takes
// memory. A shared one only delays refusals.
type refusals struct {
	limits   *limit.Set
	seed     maphash.Seed
	limiters [256]*rate.Limiter
	delayed  atomic.Int64
}

const (
	refusalsPerSecond = 20 // of one client, without a delay
	refusalDelay      = time.Second
)

func newRefusals(limits *limit.Set) *refusals {
	r := &refusals{limits: limits, seed: maphash.MakeSeed()}
	for i := range r.limiters {
		r.limiters[i] = rate.NewLimiter(refusalsPerSecond, refusalsPerSecond)
	}
	return r
}

// pace waits before a refusal is sent if the client had too many of them. At most
// max-waiting-requests refusals wait; more are sent at once.
func (r *refusals) pace(ctx context.Context, client string, status *api.Status) {
	if status.Code != http.StatusTooManyRequests || r.limiters[maphash.String(r.seed, client)%uint64(len(r.limiters))].Allow() {
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
