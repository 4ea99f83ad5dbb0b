package signin

import (
	"context"
	"net/http"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// Cookie returns a policy that takes the token from a cookie if the client presents no
// other token. The HTTP server must check the origin of requests, because browsers add
// the cookie to requests from pages of any site.
func Cookie(name string, p access.Policy, limits *limit.Set) access.Policy {
	return &cookie{p, name, limits}
}

type cookie struct {
	access.Policy
	name   string
	limits *limit.Set
}

// Authenticate implements access.Policy.
func (c *cookie) Authenticate(ctx context.Context, token string) (*access.User, *api.Status) {
	token, refused := c.token(ctx, token)
	if refused != nil {
		return nil, refused
	}
	user, refused := c.Policy.Authenticate(ctx, token)
	if token == "" && refused != nil && refused.Code == api.CodeUnauthorized {
		return nil, api.Unauthorized("the request has neither a token nor the cookie " + c.name + ": sign in")
	}
	return user, refused
}

// Rules implements access.Ruler.
func (c *cookie) Rules(ctx context.Context, token string, user *access.User, namespace string) (*access.Rules, *api.Status) {
	token, refused := c.token(ctx, token)
	if refused != nil {
		return nil, refused
	}
	return access.RulesOf(ctx, c.Policy, token, user, namespace)
}

// token returns the presented token, or the token in the cookie. It returns "" if both
// are missing. It refuses a request with several cookies of the configured name, because
// another host of the domain may have set one of them.
func (c *cookie) token(ctx context.Context, presented string) (string, *api.Status) {
	if presented != "" {
		return presented, nil
	}
	cookies := (&http.Request{Header: access.ClientOf(ctx).Header}).CookiesNamed(c.name)
	switch {
	case len(cookies) == 0:
		return "", nil
	case len(cookies) > 1:
		return "", api.Unauthorized("the request has several cookies " + c.name + ": sign in again, and use a name that begins with __Host-")
	case len(cookies[0].Value) > c.limits.Int(limit.MaxTokenBytes):
		return "", c.limits.Refuse(limit.MaxTokenBytes, "the token in the cookie is too long")
	}
	return cookies[0].Value, nil
}

// Unwrap returns the wrapped policy, which authorizes requests. See [access.Unwrap].
func (c *cookie) Unwrap() access.Policy { return c.Policy }
