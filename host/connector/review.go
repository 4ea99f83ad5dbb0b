package connector

import (
	"context"
	"maps"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/host/access"
)

// review asks again and again whether the reader may still have what it has,
// until ctx ends. A policy that cannot decide now leaves things as they are: the
// last decision was for it.
func (r *reader) review(ctx context.Context) {
	ticker := time.NewTicker(r.connector.config.ReviewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.reviewOnce(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (r *reader) reviewOnce(ctx context.Context) {
	c := r.connector
	c.mu.Lock()
	greeted, token, rights := r.user != nil, r.token, maps.Clone(r.rights)
	c.mu.Unlock()
	if !greeted {
		return
	}
	user, status := c.config.Access.Authenticate(ctx, token)
	if access.Decided(status) {
		r.expel(status)
		return
	}
	if status != nil {
		c.config.Logger.Warn("a reader's token cannot be reviewed now", "error", status)
		return
	}
	for id, request := range rights {
		status := c.config.Access.Authorize(ctx, user, request)
		switch {
		case access.Decided(status):
			r.withdraw(id, status)
		case status != nil:
			c.config.Logger.Warn("a reader's rights cannot be reviewed now", "user", user.Name, "request", request.String(), "error", status)
		}
	}
}

// withdraw ends one subscription; the others go on.
func (r *reader) withdraw(id uint32, status *api.Status) {
	c := r.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	r.session.End(status, func(sub uint32, _ *cacher.Cacher) bool { return sub == id })
	delete(r.rights, id)
	r.wake()
}

// expel ends the connection.
func (r *reader) expel(status *api.Status) {
	select {
	case r.expelled <- status:
		r.end()
	default:
	}
}
