package kubeapi

import (
	"context"
	"errors"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

// reviewGap is the shortest time between two reviews of a watch.
const reviewGap = time.Second

// reviewed is a watch whose authorization is reviewed regularly. It ends with a 403 if the user
// loses access, and with a 401 if the token is withdrawn or expires. The client then lists or
// watches again with its current token.
type reviewed struct {
	Watch
	handler *Handler
	request *request
	next    time.Time       // time of the next review
	valid   context.Context // canceled when the policy withdraws the token, which makes a review due; may be nil
}

func (h *Handler) reviewed(w Watch, r *request) Watch {
	if h.config.Access == access.Everyone() {
		return w
	}
	reviewed := &reviewed{Watch: w, handler: h, request: r}
	reviewed.schedule(0)
	return reviewed
}

// schedule sets the time of the next review. A review is due after ReviewInterval or when
// a decision expires, but not before the pause has passed. If the token expires during
// the pause, the review is due when it expires.
func (w *reviewed) schedule(pause time.Duration) {
	now, user := time.Now(), w.request.user
	w.valid = user.Valid
	w.next = now.Add(w.handler.config.ReviewInterval)
	for _, at := range []time.Time{user.ReviewAt, w.request.reviewAt} {
		if !at.IsZero() && at.Before(w.next) {
			w.next = at
		}
	}
	if earliest := now.Add(pause); w.next.Before(earliest) {
		w.next = earliest
	}
	if !user.Expires.IsZero() && user.Expires.Before(w.next) {
		w.next = user.Expires
	}
}

// Next implements Watch. It reviews the watch when a review is due, even if no event
// arrives.
func (w *reviewed) Next(ctx context.Context) ([]Event, error) {
	for {
		events, interrupted, err := w.nextUntilDue(ctx)
		if !interrupted && (err != nil || !w.due()) {
			return events, err
		}
		if status := w.review(ctx); status != nil {
			return nil, status // the events received before the refused review are not sent
		}
		if !interrupted {
			return events, nil
		}
	}
}

// nextUntilDue waits for events until the next review is due. The result "interrupted"
// reports whether the review became due first.
func (w *reviewed) nextUntilDue(ctx context.Context) (events []Event, interrupted bool, err error) {
	bounded, cancel := context.WithDeadline(ctx, w.next)
	defer cancel()
	if w.valid != nil {
		defer context.AfterFunc(w.valid, cancel)()
	}
	events, err = w.Watch.Next(bounded)
	interrupted = bounded.Err() != nil && ctx.Err() == nil &&
		(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
	return events, interrupted, err
}

// due reports whether the watch must be reviewed before it continues.
func (w *reviewed) due() bool {
	return !time.Now().Before(w.next) || w.withdrawn()
}

// withdrawn reports whether the policy has withdrawn the token since the last review.
func (w *reviewed) withdrawn() bool { return w.valid != nil && w.valid.Err() != nil }

// review authenticates and authorizes the watch again. If the policy refuses the watch,
// review returns the status; otherwise it returns nil. If the policy cannot decide, the
// watch continues until the token expires.
func (w *reviewed) review(ctx context.Context) *api.Status {
	if w.request.user.Expired(time.Now()) {
		return access.TokenExpired()
	}
	policy := w.handler.access
	ctx, cancel := context.WithTimeout(access.Renewing(ctx), access.ReviewTimeout)
	defer cancel()
	user, status := policy.Authenticate(ctx, w.request.token)
	if status == nil {
		w.request.user = user
		w.request.reviewAt, status = policy.Authorize(ctx, user, w.request.asks())
	}
	switch {
	case access.Decided(status):
		return status
	case w.request.user.Expired(time.Now()):
		return access.TokenExpired()
	case status != nil:
		pause := min(access.ReviewRetry, w.handler.config.ReviewInterval)
		w.schedule(pause)
		if w.withdrawn() { // the context stays canceled: ignore it, and wait before the next review
			w.valid, w.next = nil, time.Now().Add(pause)
		}
	default:
		w.schedule(reviewGap)
	}
	return nil
}
