package signin_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/signin"
)

// cluster is a policy in which the token "t-NAME" belongs to the user NAME. The field
// rights lists the permitted requests in the form "USER REQUEST".
type cluster struct {
	mu     sync.Mutex
	rights []string
	asked  []string
	until  time.Time // expiry of each decision
}

func (c *cluster) Authenticate(_ context.Context, token string) (*access.User, *api.Status) {
	name, ok := strings.CutPrefix(token, "t-")
	if !ok {
		return nil, api.Unauthorized("the token is not known")
	}
	return &access.User{Name: name, Groups: []string{"devs"}}, nil
}

func (c *cluster) Authorize(_ context.Context, user *access.User, r access.Request) (time.Time, *api.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, user.Name+" "+r.String())
	if !slices.Contains(c.rights, user.Name+" "+r.String()) {
		return time.Time{}, access.Forbidden(user, r, "")
	}
	return c.until, nil
}

func (c *cluster) Rules(_ context.Context, token string, user *access.User, namespace string) (*access.Rules, *api.Status) {
	return access.UnknownRules(token + " " + user.Name + " " + namespace), nil
}

// from returns the context of a request with headers.
func from(t *testing.T, headers ...string) context.Context {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return access.WithClient(t.Context(), access.Client{Header: h})
}

func TestTokenOfTheCookie(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxTokenBytes, 100)
	p := signin.Cookie("session", &cluster{}, limits)
	for _, c := range []struct {
		cookie, token string
		user          string
		code          int
	}{
		{"session=t-ann", "", "ann", 0},
		{"other=t-ann", "", "", 401},
		{"", "t-ann", "ann", 0},
		{"session=t-ann", "t-ben", "ben", 0},
		{"session=t-ann", "wrong", "", 401},
		{"session=wrong", "", "", 401},
		{"session=t-ann; session=t-mallory", "", "", 401},
		{"session=t-" + strings.Repeat("x", 100), "", "", 413},
	} {
		user, refused := p.Authenticate(from(t, "Cookie", c.cookie), c.token)
		if c.code == 0 {
			require.Nil(t, refused, c.cookie)
			assert.Equal(t, c.user, user.Name, c.cookie)
			continue
		}
		require.NotNil(t, refused, c.cookie)
		assert.Equal(t, c.code, refused.Code, c.cookie)
		assert.NotContains(t, refused.Message, "t-ann", "tokens are not repeated")
	}
	_, refused := p.Authenticate(t.Context(), "")
	assert.Equal(t, api.Unauthorized("the request has neither a token nor the cookie session: sign in"), refused, "a client without headers")
	rules, _ := access.RulesOf(from(t, "Cookie", "session=t-ann"), p, "", &access.User{Name: "ann"}, "a")
	assert.Equal(t, "t-ann ann a", rules.EvaluationError)
}

func TestImpersonationNeedsEachRight(t *testing.T) {
	users := "root impersonate v1/users bob"
	for name, c := range map[string]struct {
		headers []string
		rights  []string
		want    *access.User
		refusal string
	}{
		"user": {[]string{"Impersonate-User", "bob"}, []string{users},
			&access.User{Name: "bob", Groups: []string{"system:authenticated"}}, ""},
		"user without the right": {[]string{"Impersonate-User", "bob"}, nil, nil,
			`users "bob" is forbidden: User "root" cannot impersonate resource "users" in API group "" at the cluster scope`},
		"group": {[]string{"Impersonate-User", "bob", "Impersonate-Group", "devs", "Impersonate-Group", "ops"},
			[]string{users, "root impersonate v1/groups devs", "root impersonate v1/groups ops"},
			&access.User{Name: "bob", Groups: []string{"devs", "ops", "system:authenticated"}}, ""},
		"group without the right": {[]string{"Impersonate-User", "bob", "Impersonate-Group", "devs", "Impersonate-Group", "system:masters"},
			[]string{users, "root impersonate v1/groups devs"}, nil,
			`groups "system:masters" is forbidden: User "root" cannot impersonate resource "groups" in API group "" at the cluster scope`},
		"all": {[]string{"Impersonate-User", "bob", "Impersonate-Uid", "7", "Impersonate-Extra-Acme%2eorg%2FScope", "a"},
			[]string{users, "root impersonate authentication.k8s.io/v1/uids 7", "root impersonate authentication.k8s.io/v1/userextras/acme.org/scope a"},
			&access.User{Name: "bob", UID: "7", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"acme.org/scope": {"a"}}}, ""},
		"UID without the right": {[]string{"Impersonate-User", "bob", "Impersonate-Uid", "7"}, []string{users}, nil,
			`uids.authentication.k8s.io "7" is forbidden: User "root" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope`},
		"extra without the right": {[]string{"Impersonate-User", "bob", "Impersonate-Extra-Scopes", "a"}, []string{users}, nil,
			`userextras.authentication.k8s.io "a" is forbidden: User "root" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope`},
		"service account": {[]string{"Impersonate-User", "system:serviceaccount:shop:web"}, []string{"root impersonate v1/serviceaccounts web in namespace shop"},
			&access.User{Name: "system:serviceaccount:shop:web", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"}}, ""},
		"malformed service account": {[]string{"Impersonate-User", "system:serviceaccount:shop"}, []string{"root impersonate v1/users system:serviceaccount:shop"},
			&access.User{Name: "system:serviceaccount:shop", Groups: []string{"system:authenticated"}}, ""},
		"anonymous": {[]string{"Impersonate-User", "system:anonymous"}, []string{"root impersonate v1/users system:anonymous"},
			&access.User{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}, ""},
		"group alone": {[]string{"Impersonate-Group", "system:masters"}, nil, nil, "Impersonate-Group, Impersonate-Uid and Impersonate-Extra require Impersonate-User"},
		"long name":   {[]string{"Impersonate-User", strings.Repeat("x", 2000)}, nil, nil, "longer than Kubernetes allows"},
	} {
		t.Run(name, func(t *testing.T) {
			p := signin.Impersonation(&cluster{rights: c.rights}, nil)
			user, refused := p.Authenticate(from(t, c.headers...), "t-root")
			if c.refusal != "" {
				require.NotNil(t, refused)
				assert.Contains(t, refused.Message, c.refusal)
				assert.Nil(t, user)
				return
			}
			require.Nil(t, refused)
			c.want.Impersonator = "root"
			assert.Equal(t, c.want, user)
			assert.False(t, user.Shared)
			rules, _ := access.RulesOf(t.Context(), p, "t-root", user, "a")
			assert.NotContains(t, rules.EvaluationError, "t-root", "the user's rules are returned, not the caller's")
		})
	}
}

func TestRequestsWithoutImpersonationUseTheirUser(t *testing.T) {
	c := &cluster{}
	p := signin.Impersonation(c, nil)
	user, refused := p.Authenticate(from(t, "Accept", "*/*"), "t-ann")
	require.Nil(t, refused)
	assert.Equal(t, "ann", user.Name)
	assert.Empty(t, user.Impersonator)
	assert.Empty(t, c.asked)
	_, refused = p.Authenticate(from(t, "Impersonate-User", "bob"), "wrong")
	assert.ErrorIs(t, refused, api.Unauthorized(""))
	assert.Empty(t, c.asked, "the caller is authenticated first")
	rules, _ := access.RulesOf(t.Context(), p, "t-ann", user, "a")
	assert.Equal(t, "t-ann ann a", rules.EvaluationError)
}

func TestImpersonatedAttributesAreLimited(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxImpersonations, 3)
	c := &cluster{}
	_, refused := signin.Impersonation(c, limits).Authenticate(from(t, "Impersonate-User", "bob",
		"Impersonate-Group", "a", "Impersonate-Group", "b", "Impersonate-Group", "c"), "t-root")
	require.NotNil(t, refused)
	assert.Equal(t, 413, refused.Code)
	assert.Equal(t, "max-impersonations", refused.Cause)
	assert.EqualValues(t, 1, limits.Refusals(limit.MaxImpersonations))
	assert.Empty(t, c.asked)
}

func TestImpersonationIsReviewedWhenTheFirstDecisionExpires(t *testing.T) {
	c := &cluster{rights: []string{"root impersonate v1/users bob"}, until: time.Unix(100, 0)}
	user, refused := signin.Impersonation(c, nil).Authenticate(from(t, "Impersonate-User", "bob"), "t-root")
	require.Nil(t, refused)
	assert.Equal(t, time.Unix(100, 0), user.ReviewAt)
}

// Policies that do not support impersonation refuse requests with Impersonate headers. If
// they ignored the headers, a backend that impersonates its users would read with its own
// rights.
func TestImpersonationIsRefusedByPoliciesWithoutIt(t *testing.T) {
	for _, p := range []access.Policy{access.Everyone(), access.Token("t-root"), signin.Cookie("session", &cluster{}, nil)} {
		_, refused := access.Enforce(p, nil, nil).Authenticate(from(t, "Impersonate-User", "bob"), "t-root")
		require.NotNil(t, refused)
		assert.Equal(t, 403, refused.Code)
		assert.Contains(t, refused.Message, "does not support impersonation")
	}
	p := signin.Impersonation(&cluster{rights: []string{"root impersonate v1/users bob"}}, nil)
	user, refused := access.Enforce(p, nil, nil).Authenticate(from(t, "Impersonate-User", "bob"), "t-root")
	require.Nil(t, refused)
	assert.Equal(t, "bob", user.Name)
}
