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

// reviewed is a watch that ends with a 403 when the right to it is withdrawn,
// and with a 401 when the token is, or expires. Its client then lists or watches
// again, with the token that it has by then.
type reviewed struct {
	Watch
	handler *Handler
	request *request
	next    time.Time // of the review
}

func (h *Handler) reviewed(w Watch, r *request) Watch {
	if h.config.Access == access.Everyone() {
		return w
	}
	reviewed := &reviewed{Watch: w, handler: h, request: r}
	reviewed.schedule(0)
	return reviewed
}

// schedule sets the time of the next review: when a decision expires, but no sooner
// than after a pause, or when the token expires.
func (w *reviewed) schedule(pause time.Duration) {
	now, user := time.Now(), w.request.user
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

// Next implements Watch. It reviews the watch when that is due, whether there are
// events or not.
func (w *reviewed) Next(ctx context.Context) ([]Event, error) {
	for {
		bounded, cancel := context.WithDeadline(ctx, w.next)
		events, err := w.Watch.Next(bounded)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			if err != nil || time.Now().Before(w.next) {
				return events, err
			}
		}
		if status := w.review(ctx); status != nil {
			return nil, status // events that came meanwhile are not sent
		}
		if err == nil {
			return events, nil
		}
	}
}

// review repeats the decisions about the watch and returns one against it. If the
// policy comes to no decision, the watch goes on until the token expires.
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
		w.schedule(min(access.ReviewRetry, w.handler.config.ReviewInterval))
	default:
		w.schedule(reviewGap)
	}
	return nil
}
