package connector

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/host/access"
)

const (
	// reviewGap is the minimum time between two reviews of a reader. Decisions that
	// expire within this time are reviewed together.
	reviewGap = time.Second
	// reviewsAtOnce is the maximum number of concurrent reviews of one reader's
	// rights.
	reviewsAtOnce = 8
)

// grant is the right that a subscription depends on, and when to review it.
type grant struct {
	request  access.Request
	reviewAt time.Time
}

// reviewBy returns when to review a decision that expires at the given time. The result is
// at most ReviewInterval from now. A zero argument means that the decision does not
// expire.
func (c *Connector) reviewBy(expires time.Time) time.Time {
	latest := time.Now().Add(c.config.ReviewInterval)
	if expires.IsZero() || expires.After(latest) {
		return latest
	}
	return expires
}

// currentUser returns the user as of the last review, or nil before the Hello.
func (r *reader) currentUser() *access.User {
	r.connector.mu.Lock()
	defer r.connector.mu.Unlock()
	return r.user
}

// reviews repeats the expired decisions of one reader. It uses a timer instead of a
// goroutine, whose stack would use memory for every idle reader.
type reviews struct {
	// running is closed when the running review ends. It is nil if no review is running.
	// Guarded by connector.mu.
	running   chan struct{}
	notBefore time.Time // earliest time of the next review; used only by the running review
	// timer starts the next review. It is nil before startReviews, and if the policy is
	// access.Everyone. Guarded by connector.mu.
	timer *time.Timer
}

// startReviews starts the reviews, which repeat expired decisions until ctx is done. If the
// policy cannot decide, the rights stay granted. The caller cancels ctx before it calls
// stop, which waits for a running review.
func (r *reader) startReviews(ctx context.Context) (stop func()) {
	c := r.connector
	if c.config.Access == access.Everyone() {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.reviews.timer = time.AfterFunc(c.config.ReviewInterval, func() { r.review(ctx) })
	return func() {
		c.mu.Lock()
		r.reviews.timer.Stop()
		running := r.reviews.running
		c.mu.Unlock()
		if running != nil {
			<-running
		}
	}
}

// scheduleReview makes the timer call review immediately, which computes the time of the
// next review. Callers use it after each new or changed decision, and hold the lock of the
// connector.
func (r *reader) scheduleReview() {
	if r.reviews.timer != nil {
		r.reviews.timer.Reset(0)
	}
}

// review repeats the decisions that have expired, and schedules the next review. If a
// review is already running, that review also repeats these decisions, and this call
// returns.
func (r *reader) review(ctx context.Context) {
	c, v := r.connector, &r.reviews
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.running != nil {
		return
	}
	v.running = make(chan struct{})
	for r.reviewIsDue(ctx) {
		c.mu.Unlock()
		v.notBefore = time.Now().Add(r.reviewOnce(ctx))
		c.mu.Lock()
	}
	close(v.running)
	v.running = nil
}

// reviewIsDue reports whether a decision has expired and the minimum time since the last
// review has passed. If not, it schedules a review, unless ctx is done. The caller holds
// the lock.
func (r *reader) reviewIsDue(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	wait := time.Until(r.reviewDue(r.reviews.notBefore))
	if wait <= 0 {
		return true
	}
	r.reviews.timer.Reset(wait)
	return false
}

// reviewDue returns when the first decision is due for review, or notBefore if that is
// later. The caller holds the lock.
func (r *reader) reviewDue(notBefore time.Time) time.Time {
	if r.user == nil {
		return r.connector.reviewBy(time.Time{})
	}
	due := r.tokenReviewAt
	for _, g := range r.rights {
		if g.reviewAt.Before(due) {
			due = g.reviewAt
		}
	}
	if due.Before(notBefore) {
		return notBefore
	}
	return due
}

// reviewOnce reviews the token and every right. The policy answers from its cache if a
// decision has not expired. reviewOnce returns the minimum time until the next review.
func (r *reader) reviewOnce(ctx context.Context) time.Duration {
	c := r.connector
	c.mu.Lock()
	user, token, rights := r.user, r.token, maps.Clone(r.rights)
	c.mu.Unlock()
	if user == nil {
		return 0
	}
	ctx = access.Renewing(ctx)
	user, status := r.renewToken(ctx, token)
	switch {
	case access.Decided(status):
		r.expel(status)
		return access.ReviewRetry
	case status != nil:
		c.config.Logger.Warn("a reader's token cannot be reviewed now", "error", status)
		return access.ReviewRetry
	}
	if !r.renewRights(ctx, user, rights) {
		return access.ReviewRetry
	}
	return reviewGap
}

func (r *reader) renewToken(ctx context.Context, token string) (*access.User, *api.Status) {
	c := r.connector
	bounded, cancel := context.WithTimeout(ctx, c.lookupTimeout())
	defer cancel()
	user, status := c.access.Authenticate(bounded, token)
	if status != nil {
		return nil, status
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.setUser(user)
	return user, nil
}

// setUser sets the user, and schedules the connection to end when the token expires. The
// caller holds the lock.
func (r *reader) setUser(user *access.User) {
	r.user, r.tokenReviewAt = user, r.connector.reviewBy(user.ReviewAt)
	if r.expiry != nil {
		r.expiry.Stop()
	}
	if !user.Expires.IsZero() {
		r.expiry = time.AfterFunc(time.Until(user.Expires), func() { r.expel(access.TokenExpired()) })
	}
	r.unwatchToken()
	if user.Valid != nil {
		r.stopWatching = context.AfterFunc(user.Valid, r.tokenWithdrawn)
	}
}

// tokenWithdrawn starts a review of the token immediately.
func (r *reader) tokenWithdrawn() {
	r.connector.mu.Lock()
	defer r.connector.mu.Unlock()
	r.tokenReviewAt = time.Now()
	r.scheduleReview()
}

// unwatchToken cancels the tokenWithdrawn callback that setUser registered for the
// current token. The caller holds the lock.
func (r *reader) unwatchToken() {
	if r.stopWatching != nil {
		r.stopWatching()
		r.stopWatching = nil
	}
}

// renewRights reviews the given rights, and reports whether the policy could decide all
// of them.
func (r *reader) renewRights(ctx context.Context, user *access.User, rights map[uint32]grant) bool {
	c := r.connector
	var mu sync.Mutex
	decided := true
	var group errgroup.Group
	group.SetLimit(reviewsAtOnce)
	for id, g := range rights {
		group.Go(func() error {
			bounded, cancel := context.WithTimeout(ctx, c.lookupTimeout())
			defer cancel()
			reviewAt, status := c.access.Authorize(bounded, user, g.request)
			if status == nil || access.Decided(status) {
				r.renew(id, g.request, reviewAt, status)
				return nil
			}
			c.config.Logger.Warn("a reader's rights cannot be reviewed now", "user", user.Name, "request", g.request.String(), "error", status)
			mu.Lock()
			defer mu.Unlock()
			decided = false
			return nil
		})
	}
	group.Wait() // the functions return no errors
	return decided
}

// renew extends the right of a subscription, or ends the subscription if the right is
// refused.
func (r *reader) renew(id uint32, request access.Request, reviewAt time.Time, refused *api.Status) {
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.rights[id].request != request: // the reader has ended the subscription, or reused its number
	case refused == nil:
		r.rights[id] = grant{request, c.reviewBy(reviewAt)}
	default:
		r.session.End(refused, func(sub uint32, _ *cacher.Cacher) bool { return sub == id })
		delete(r.rights, id)
		r.wake()
	}
}

// expel ends the connection of a reader that may no longer be connected.
func (r *reader) expel(status *api.Status) {
	select {
	case r.expelled <- status:
		r.end()
	default:
	}
}
