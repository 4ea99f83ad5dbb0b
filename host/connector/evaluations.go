package connector

import (
	"context"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/host/limit"
)

// evaluationChunk is the number of selector evaluations that an evaluator takes from its
// client's allowance at a time. It limits how many evaluations run before the lock is
// released.
const evaluationChunk = 1000

// allowance limits the work of one client, which includes its readers and its lists and
// watches of the Kubernetes API. Guarded by Connector.mu.
type allowance struct {
	client      string
	evaluations *rate.Limiter
	messages    *rate.Limiter
	users       int
	expiry      *time.Timer // deletes the allowance; runs while it has no users
}

// burst is the time that an empty allowance without users takes to refill.
const burst = time.Second

// joinAllowance adds a reader or request to the users of a client's allowance, and returns
// the allowance. The caller holds the lock and has authenticated the client.
func (c *Connector) joinAllowance(client string) *allowance {
	a := c.allowances[client]
	if a == nil {
		perSecond := c.config.Limits.Int(limit.MaxEvaluationRate)
		a = &allowance{
			client:      client,
			evaluations: rate.NewLimiter(rate.Limit(perSecond), max(perSecond, evaluationChunk)),
			messages:    newLimiter(c.config.Limits.Int(limit.MaxClientMessageRate)),
		}
		c.allowances[client] = a
	}
	if a.expiry != nil {
		a.expiry.Stop()
	}
	a.users++
	return a
}

// leaveAllowance removes a reader or request from the users of an allowance. An allowance
// without users is kept until it is full again, so that reconnecting does not grant
// another burst. The caller holds the lock.
func (c *Connector) leaveAllowance(a *allowance) {
	if a == nil {
		return
	}
	if a.users--; a.users > 0 || c.closed {
		return
	}
	a.expiry = time.AfterFunc(burst+max(a.debt(), debtOf(a.messages)), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if a.users == 0 && c.allowances[a.client] == a {
			delete(c.allowances, a.client)
		}
	})
}

// debt returns the time until the allowance has regained the evaluations granted in advance.
func (a *allowance) debt() time.Duration { return debtOf(a.evaluations) }

// debtOf returns the time until the limiter has regained the tokens taken in advance, or 0
// if it has regained them.
func debtOf(l *rate.Limiter) time.Duration {
	return time.Duration(-min(l.Tokens(), 0) / float64(l.Limit()) * float64(time.Second))
}

// refuseList returns the refusal of a list while the allowance is used up, and nil
// otherwise. The caller holds the lock.
func (c *Connector) refuseList(a *allowance) *api.Status {
	debt := a.debt()
	if debt == 0 {
		return nil
	}
	status := c.config.Limits.Refuse(limit.MaxEvaluationRate, "the selectors of this client need too many evaluations: try again later, or use simpler selectors")
	status.RetryAfterSeconds = int(math.Ceil(debt.Seconds()))
	return status
}

// evaluator is a reader, list or watch that consumes an allowance. Its selectors consume
// evaluations from the meter, which evaluate refills from the allowance. Guarded by Connector.mu.
type evaluator struct {
	meter     watcher.Meter
	allowance *allowance // nil if the meter is never refilled
	grantedAt time.Time  // when the requested evaluations are granted; zero if none are requested
}

// use attaches the client's allowance to e if the request has selectors, so that evaluate
// can refill the meter. The caller holds the lock.
func (c *Connector) use(e *evaluator, client string, s selector.Selection) {
	if !s.Labels.Empty() || !s.Fields.Empty() {
		e.allowance = c.joinAllowance(client)
	}
}

// evaluate grants evaluations to an evaluator whose meter is exhausted, and returns 0. If
// the allowance of the client is also used up, evaluate returns how long to wait. The
// caller holds the lock.
func (c *Connector) evaluate(e *evaluator) (wait time.Duration) {
	for e.meter.Exhausted() && e.allowance != nil {
		if e.grantedAt.IsZero() {
			now := time.Now()
			e.grantedAt = now.Add(e.allowance.evaluations.ReserveN(now, evaluationChunk).DelayFrom(now))
			if e.grantedAt.After(now) {
				c.config.Limits.Count(limit.MaxEvaluationRate)
			}
		}
		if wait = time.Until(e.grantedAt); wait > 0 {
			return wait
		}
		e.grantedAt = time.Time{}
		e.meter.Grant(evaluationChunk)
	}
	return 0
}

// newLimiter returns a limiter with the given rate and a burst of one second.
func newLimiter(perSecond int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}

// pace waits until a limiter admits the given cost. It returns an error if ctx is done first.
// A cost above the burst, the allowance of one second, counts as the burst.
func (c *Connector) pace(ctx context.Context, l *limit.Limit, limiter *rate.Limiter, cost int) error {
	wait := limiter.ReserveN(time.Now(), min(cost, limiter.Burst())).Delay()
	if wait <= 0 {
		return nil
	}
	c.config.Limits.Count(l)
	return pause(ctx, wait)
}

func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// costOf returns the cost of a message for rate limits. Message.Cost counts the message
// and its subscriptions. Each frame that is not a Request, except the first, costs 1,
// because the connector processes it under the lock. The message size barely limits the
// number of such frames, because most are small.
func costOf(m *session.Message) int {
	cost, others := m.Cost(), -1
	for _, frame := range m.Frames {
		if _, ok := frame.(*session.Request); !ok {
			others++
		}
	}
	return cost + max(others, 0)
}

// paceMessage waits until the reader and its client may send a message of the given cost.
// Only the receiving goroutine calls it, so it reads r.allowance without the lock.
func (r *reader) paceMessage(ctx context.Context, cost int) error {
	if err := r.connector.pace(ctx, limit.MaxMessageRate, r.messages, cost); err != nil || r.allowance == nil {
		return err
	}
	return r.connector.pace(ctx, limit.MaxClientMessageRate, r.allowance.messages, cost)
}

const (
	// costObjects is the number of objects or changes that cost as much as one message.
	costObjects = 100
	// maxDebt is the maximum time by which new subscriptions delay the next message.
	maxDebt = 10 * time.Second
)

// chargeSubscription charges the reader and its client for the objects or changes that a
// new subscription begins with. The charge delays later messages of both, but not the
// subscription, which is already accepted. The caller holds the lock.
func (r *reader) chargeSubscription(asked *session.Request) {
	cost := r.connector.collections[asked.Resource].startOf(asked) / costObjects
	debit(r.messages, cost)
	debit(r.allowance.messages, cost)
}

// debit takes a cost from a limiter without waiting. One debit takes at most the allowance
// of one second, so that a large collection barely delays the reader's Credit frames.
func debit(l *rate.Limiter, cost int) {
	now := time.Now()
	left := int(l.TokensAt(now)) + l.Burst()*int(maxDebt/time.Second)
	if cost = min(cost, l.Burst(), left); cost > 0 {
		l.ReserveN(now, cost)
	}
}

// startOf returns the number of objects and changes that a new subscription begins with.
// A resumed subscription begins with changes, and a continued snapshot with changes and the
// missing objects. All other subscriptions begin with objects. startOf excludes objects
// outside the scope, because a reader could infer their number from the delay. It counts no
// objects for a selection by name, because the selector already costs evaluations. The
// caller holds the lock.
func (col *collection) startOf(asked *session.Request) int {
	c, f := col.cacher, asked.Frame
	if !c.Ready() {
		return 0
	}
	from, changes := api.Key(""), 0
	if f.ResourceVersion != 0 && f.ClusterID == c.Upstream().ClusterID() {
		position, status := c.Window().After(f.ResourceVersion)
		if status == nil {
			from, changes = f.SnapshotFrom, c.Window().End()-position
		}
		if f.SnapshotFrom == "" {
			return changes
		}
	}
	switch scope := selector.ScopeOf(f.Namespace, asked.Selection.Fields); {
	case scope.Name != "":
		return 0
	case scope.Namespace != "":
		return changes + c.State().Between(max(from, api.Key(f.Namespace+"/")), api.Key(f.Namespace+"0")) // '0' follows '/'
	}
	return changes + c.State().Between(from, "")
}
