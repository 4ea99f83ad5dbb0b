package signin

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

const (
	allAuthenticated   = "system:authenticated"
	allUnauthenticated = "system:unauthenticated"
	anonymous          = "system:anonymous"

	serviceAccountPrefix = "system:serviceaccount:"
	authenticationGroup  = "authentication.k8s.io"
)

// Impersonation returns a policy that lets users act as other users with the Impersonate
// headers of Kubernetes. The policy p must grant the caller the verb "impersonate" for
// the requested user and for each requested group, UID and extra value. Without these
// headers, the result behaves like p.
func Impersonation(p access.Policy, limits *limit.Set) access.Policy {
	return &impersonation{p, limits}
}

type impersonation struct {
	access.Policy
	limits *limit.Set
}

// Impersonates implements access.Impersonator.
func (*impersonation) Impersonates() bool { return true }

// Authenticate implements access.Policy. It returns the impersonated user, or the caller if
// the headers request no impersonation.
func (i *impersonation) Authenticate(ctx context.Context, token string) (*access.User, *api.Status) {
	caller, refused := i.Policy.Authenticate(ctx, token)
	if refused != nil {
		return nil, refused
	}
	user, rights, refused := i.requested(access.ClientOf(ctx).Header)
	switch {
	case refused != nil:
		return nil, refused
	case user == nil:
		return caller, nil
	}
	user.Impersonator, user.Expires, user.ReviewAt, user.Valid = caller.Name, caller.Expires, caller.ReviewAt, caller.Valid
	for _, right := range rights {
		if refused := right.Check(); refused != nil {
			return nil, refused
		}
		reviewAt, refused := i.Policy.Authorize(ctx, caller, right)
		if refused != nil {
			return nil, refused
		}
		user.ReviewAt = earlier(user.ReviewAt, reviewAt)
	}
	return user, nil
}

// Rules implements access.Ruler. It reports the rules of an impersonated user as unknown,
// because a review with the caller's token would return the caller's rules.
func (i *impersonation) Rules(ctx context.Context, token string, user *access.User, namespace string) (*access.Rules, *api.Status) {
	if user.Impersonator != "" {
		return access.UnknownRules("the rules of an impersonated user cannot be listed: use SelfSubjectAccessReview"), nil
	}
	return access.RulesOf(ctx, i.Policy, token, user, namespace)
}

// earlier returns the earlier of two times. It ignores a zero time, which means that the
// time is unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// requested returns the user to impersonate according to the headers, and the rights that
// the caller needs to impersonate that user. The user is nil if the headers request no
// impersonation.
func (i *impersonation) requested(h http.Header) (*access.User, []access.Request, *api.Status) {
	if !access.RequestsImpersonation(h) {
		return nil, nil, nil
	}
	user := &access.User{
		Name: h.Get("Impersonate-User"), UID: h.Get("Impersonate-Uid"),
		Groups: slices.Clone(h.Values("Impersonate-Group")), Extra: prefixed(h, "Impersonate-Extra-"),
	}
	if user.Name == "" {
		return nil, nil, api.BadRequest("Impersonate-Group, Impersonate-Uid and Impersonate-Extra require Impersonate-User")
	}
	rights := rightsFor(user)
	if len(rights) > i.limits.Int(limit.MaxImpersonations) {
		return nil, nil, i.limits.Refuse(limit.MaxImpersonations, "the request impersonates too many groups and extra values")
	}
	addGroups(user)
	return user, rights, nil
}

// rightsFor returns the rights that kube-apiserver requires for impersonating a user.
func rightsFor(user *access.User) []access.Request {
	right := func(group, resource, subresource, namespace, name string) access.Request {
		return access.Request{
			Resource: api.Resource{Group: group, Version: "v1", Name: resource}, Subresource: subresource,
			Namespace: namespace, Name: name, Verb: "impersonate",
		}
	}
	var rights []access.Request
	if namespace, name, ok := serviceAccount(user.Name); ok {
		rights = append(rights, right("", "serviceaccounts", "", namespace, name))
	} else {
		rights = append(rights, right("", "users", "", "", user.Name))
	}
	for _, group := range user.Groups {
		rights = append(rights, right("", "groups", "", "", group))
	}
	if user.UID != "" {
		rights = append(rights, right(authenticationGroup, "uids", "", "", user.UID))
	}
	for key, values := range user.Extra {
		for _, value := range values {
			rights = append(rights, right(authenticationGroup, "userextras", key, "", value))
		}
	}
	return rights
}

func serviceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}

// addGroups adds the groups that kube-apiserver adds to an impersonated user.
func addGroups(user *access.User) {
	if namespace, _, ok := serviceAccount(user.Name); ok && len(user.Groups) == 0 {
		user.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
	}
	if user.Name == anonymous {
		if !slices.Contains(user.Groups, allUnauthenticated) {
			user.Groups = append(user.Groups, allUnauthenticated)
		}
		return
	}
	addAuthenticated(user)
}

// addAuthenticated adds the group system:authenticated, unless the user is in that group or
// in system:unauthenticated.
func addAuthenticated(user *access.User) {
	if !slices.Contains(user.Groups, allAuthenticated) && !slices.Contains(user.Groups, allUnauthenticated) {
		user.Groups = append(user.Groups, allAuthenticated)
	}
}

// prefixed returns the values of the headers whose names begin with the prefix. Each key
// is the rest of a header name, in lower case and percent-decoded. The result is nil if
// no header has the prefix.
func prefixed(h http.Header, prefix string) map[string][]string {
	var values map[string][]string
	for name, texts := range h {
		if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
			continue
		}
		key := strings.ToLower(name[len(prefix):])
		if decoded, err := url.PathUnescape(key); err == nil {
			key = decoded
		}
		if values == nil {
			values = map[string][]string{}
		}
		values[key] = append(values[key], texts...)
	}
	return values
}

// Unwrap returns the wrapped policy, which authorizes requests. See [access.Unwrap].
func (i *impersonation) Unwrap() access.Policy { return i.Policy }
