package connector

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/host/limit"
)

// evaluationChunk is how many evaluations a reader may make while it holds the lock,
// and how many are taken off the allowance of its client at a time.
const evaluationChunk = 1000

// allowance is what the readers of one client share. Guarded by Connector.mu.
type allowance struct {
	evaluations *rate.Limiter
	messages    *rate.Limiter
	readers     int
	expiry      *time.Timer // runs while there are no readers
}

// burst is how much of an allowance is saved up, in seconds.
const burst = time.Second

// joinAllowance makes a reader use the allowance of its client. The caller holds the
// lock and has identified the client.
func (r *reader) joinAllowance() {
	c, name := r.connector, r.clientName()
	a := c.allowances[name]
	if a == nil {
		perSecond := c.config.Limits.Int(limit.MaxEvaluationRate)
		a = &allowance{
			evaluations: rate.NewLimiter(rate.Limit(perSecond), max(perSecond, evaluationChunk)),
			messages:    newLimiter(c.config.Limits.Int(limit.MaxClientMessageRate)),
		}
		c.allowances[name] = a
	}
	if a.expiry != nil {
		a.expiry.Stop()
	}
	a.readers++
	r.allowance, r.allowanceOf = a, name
}

// leaveAllowance stops a reader from using the allowance of its client. The allowance
// outlives the client's last reader until it would be full again, so that reconnecting
// does not grant another burst. The caller holds the lock.
func (r *reader) leaveAllowance() {
	a, name, c := r.allowance, r.allowanceOf, r.connector
	if a == nil {
		return
	}
	if a.readers--; a.readers > 0 || c.closed {
		return
	}
	a.expiry = time.AfterFunc(burst, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if a.readers == 0 && c.allowances[name] == a {
			delete(c.allowances, name)
		}
	})
}

// evaluate grants evaluations to a reader that has used up its own. If the allowance of
// its client is used up too, evaluate returns how long to wait. The caller holds the
// lock.
func (r *reader) evaluate() (wait time.Duration) {
	for r.meter.Exhausted() && r.allowance != nil {
		if r.grantedAt.IsZero() {
			now := time.Now()
			r.grantedAt = now.Add(r.allowance.evaluations.ReserveN(now, evaluationChunk).DelayFrom(now))
			if r.grantedAt.After(now) {
				r.connector.config.Limits.Count(limit.MaxEvaluationRate)
			}
		}
		if wait = time.Until(r.grantedAt); wait > 0 {
			return wait
		}
		r.grantedAt = time.Time{}
		r.meter.Grant(evaluationChunk)
	}
	return 0
}

// newLimiter returns a limiter of a rate that saves up one second.
func newLimiter(perSecond int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}

// pace waits until a limiter admits something of a cost. More than one second's worth
// counts as one.
func (c *Connector) pace(ctx context.Context, l *limit.Limit, limiter *rate.Limiter, cost int) error {
	wait := limiter.ReserveN(time.Now(), min(cost, limiter.Burst())).Delay()
	if wait <= 0 {
		return nil
	}
	c.config.Limits.Count(l)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// paceMessage waits until the reader and its client may send a message of a cost. It
// runs in the goroutine that receives, as everything that sets the allowance.
func (r *reader) paceMessage(ctx context.Context, own *rate.Limiter, cost int) error {
	if err := r.connector.pace(ctx, limit.MaxMessageRate, own, cost); err != nil || r.allowance == nil {
		return err
	}
	return r.connector.pace(ctx, limit.MaxClientMessageRate, r.allowance.messages, cost)
}
