package kubeapi

import (
	"context"
	"errors"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

// reviewed is a watch that ends with a 403 when the right to it is withdrawn,
// and with a 401 when the token is, or expires: its clients then list or watch
// anew, with the token that they have by then.
type reviewed struct {
	Watch
	handler *Handler
	request *request
	next    time.Time
}

func (h *Handler) reviewed(w Watch, r *request) Watch {
	if h.config.Access == access.Everyone() {
		return w
	}
	reviewed := &reviewed{Watch: w, handler: h, request: r}
	reviewed.schedule(r.user)
	return reviewed
}

// schedule sets the time of the next review: no later than the token expires.
func (w *reviewed) schedule(user *access.User) {
	now := time.Now()
	w.next = now.Add(w.handler.config.ReviewInterval)
	if user != nil && user.Expires.After(now) && user.Expires.Before(w.next) {
		w.next = user.Expires
	}
}

// Next implements Watch. It asks again when it is time, whether there are
// events or not. A policy that cannot decide now leaves things as they are.
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
			return nil, status // and what has come since is not shown
		}
		if err == nil {
			return events, nil
		}
	}
}

func (w *reviewed) review(ctx context.Context) *api.Status {
	policy := w.handler.config.Access
	user, status := policy.Authenticate(ctx, w.request.token)
	w.schedule(user)
	if status == nil {
		status = policy.Authorize(ctx, user, w.request.asks())
	}
	if access.Decided(status) {
		return status
	}
	return nil
}
