package access

import (
	"context"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/limit"
)

// Observer receives every decision of an enforced Policy. Its methods are called
// concurrently, and before the decision is sent to the client.
type Observer interface {
	// Authenticated reports the decision about a presented token. The user is nil if
	// the token was refused.
	Authenticated(ctx context.Context, user *User, refused *api.Status)
	// Authorized reports the decision about a request of an authenticated user.
	Authorized(ctx context.Context, user *User, r Request, refused *api.Status)
}

// Enforce returns a Policy that wraps p. It refuses oversized tokens and requests, and
// impersonation that p does not support. It refuses users whose token has expired, and
// applies the connection limits. It reports every decision to the observer, which may be
// nil.
func Enforce(p Policy, limits *limit.Set, observer Observer) Policy {
	if observer == nil {
		observer = unobserved{}
	}
	return &enforced{policy: p, limits: limits, observer: observer}
}

type enforced struct {
	policy   Policy
	limits   *limit.Set
	observer Observer
}

// Authenticate implements Policy.
func (e *enforced) Authenticate(ctx context.Context, token string) (*User, *api.Status) {
	user, refused := e.admit(ctx, token)
	e.observer.Authenticated(ctx, user, refused)
	return user, refused
}

func (e *enforced) authenticate(ctx context.Context, token string) (*User, *api.Status) {
	if len(token) > e.limits.Int(limit.MaxTokenBytes) {
		return nil, e.limits.Refuse(limit.MaxTokenBytes, "the token is too long")
	}
	if RequestsImpersonation(ClientOf(ctx).Header) && !Impersonates(e.policy) {
		return nil, api.Forbidden("the server does not support impersonation with this --auth: remove the Impersonate- headers")
	}
	user, refused := e.policy.Authenticate(ctx, token)
	if refused != nil {
		return nil, refused
	}
	if user.Expired(time.Now()) {
		return nil, TokenExpired()
	}
	return user, nil
}

// admit authenticates the client and assigns the client's connection to the user.
func (e *enforced) admit(ctx context.Context, token string) (*User, *api.Status) {
	client := ClientOf(ctx)
	if client.Renewal || client.Connection == nil {
		return e.authenticate(ctx, token)
	}
	client.Connection.Deciding()
	user, refused := e.authenticate(ctx, token)
	if refused == nil {
		refused = client.Connection.Admit(user)
	}
	if refused != nil {
		client.Connection.Release()
		return nil, refused
	}
	return user, nil
}

// Authorize implements Policy.
func (e *enforced) Authorize(ctx context.Context, user *User, r Request) (time.Time, *api.Status) {
	reviewAt, refused := e.authorize(ctx, user, r)
	e.observer.Authorized(ctx, user, r, refused)
	return reviewAt, refused
}

func (e *enforced) authorize(ctx context.Context, user *User, r Request) (time.Time, *api.Status) {
	if refused := r.Check(); refused != nil {
		return time.Time{}, refused
	}
	return e.policy.Authorize(ctx, user, r)
}

// Rules implements Ruler.
func (e *enforced) Rules(ctx context.Context, token string, user *User, namespace string) (*Rules, *api.Status) {
	return RulesOf(ctx, e.policy, token, user, namespace)
}

// Expired reports whether the user's token has expired.
func (u *User) Expired(now time.Time) bool { return !u.Expires.IsZero() && !u.Expires.After(now) }

// TokenExpired returns the 401 for an expired token.
func TokenExpired() *api.Status {
	return api.Unauthorized("the token has expired: connect again with a new one")
}

type unobserved struct{}

func (unobserved) Authenticated(context.Context, *User, *api.Status)       {}
func (unobserved) Authorized(context.Context, *User, Request, *api.Status) {}
