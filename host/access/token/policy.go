package token

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

// Policy returns a policy that grants the holder of a token the rights that the token
// names in one cluster. It calls now to get the current time.
func Policy(keys Keys, cluster string, now func() time.Time) access.Policy {
	return policy{keys, cluster, now}
}

type policy struct {
	keys    Keys
	cluster string
	now     func() time.Time
}

// These keys of User.Extra contain the scope of the token.
const (
	extraResources  = "watchglass/resources"
	extraNamespaces = "watchglass/namespaces"
)

// Authenticate implements access.Policy.
func (p policy) Authenticate(_ context.Context, presented string) (*access.User, *api.Status) {
	claims, status := p.keys.Verify(presented, p.now())
	if status != nil {
		return nil, status
	}
	if status := claims.mayRead(p.cluster); status != nil {
		return nil, status
	}
	return &access.User{Name: claims.User, Expires: claims.Expires, Extra: map[string][]string{
		extraResources: claims.Resources, extraNamespaces: claims.Namespaces,
	}}, nil
}

func (c *Claims) mayRead(cluster string) *api.Status {
	switch {
	case c.Feed:
		return api.Forbidden("the token is for feeding, but this request reads: mint one without --feed")
	case c.Cluster != cluster:
		return api.Forbidden("the token is for another cluster than " + strconv.Quote(cluster))
	}
	return nil
}

// Authorize implements access.Policy.
func (p policy) Authorize(_ context.Context, user *access.User, r access.Request) (time.Time, *api.Status) {
	if r.Path != "" {
		if Unrestricted(user) {
			return time.Time{}, nil
		}
		return time.Time{}, access.Forbidden(user, r, "the token does not grant every resource in every namespace")
	}
	if covers(user.Extra[extraResources], r.Resource.String()) && covers(user.Extra[extraNamespaces], r.Namespace) {
		return time.Time{}, nil
	}
	return time.Time{}, access.Forbidden(user, r, "the token does not grant it"+everywhere(r))
}

// Rules implements access.Ruler.
func (p policy) Rules(_ context.Context, _ string, user *access.User, namespace string) (*access.Rules, *api.Status) {
	rules := &access.Rules{}
	if !covers(user.Extra[extraNamespaces], namespace) {
		return rules, nil
	}
	for _, name := range user.Extra[extraResources] {
		rule := access.ResourceRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{Any}, Resources: []string{Any}}
		if name != Any {
			resource, err := api.ParseResource(name)
			if err != nil {
				continue // grants nothing
			}
			rule.APIGroups, rule.Resources = []string{resource.Group}, []string{resource.Name}
		}
		rules.Resources = append(rules.Resources, rule)
	}
	return rules, nil
}

// covers reports whether a scope contains a name. The empty name means all, so only a
// scope with Any contains it.
func covers(scope []string, name string) bool {
	return slices.Contains(scope, Any) || name != "" && slices.Contains(scope, name)
}

// Unrestricted reports whether a user that a Policy authenticated may read every
// resource in every namespace.
func Unrestricted(user *access.User) bool {
	return slices.Contains(user.Extra[extraResources], Any) && slices.Contains(user.Extra[extraNamespaces], Any)
}

func everywhere(r access.Request) string {
	if r.Namespace == "" {
		return " in all namespaces"
	}
	return ""
}
