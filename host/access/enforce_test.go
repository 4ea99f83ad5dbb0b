package access_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// observer records the calls that it receives.
type observer struct{ seen []string }

func (o *observer) Authenticated(_ context.Context, user *access.User, refused *api.Status) {
	o.seen = append(o.seen, "authenticated "+who(user)+outcome(refused))
}

func (o *observer) Authorized(_ context.Context, user *access.User, r access.Request, refused *api.Status) {
	o.seen = append(o.seen, who(user)+" "+r.String()+outcome(refused))
}

func who(user *access.User) string {
	if user == nil {
		return "-"
	}
	return user.Name
}

func outcome(refused *api.Status) string {
	if refused == nil {
		return ": allowed"
	}
	return ": " + string(refused.Reason)
}

func TestEveryDecisionIsObserved(t *testing.T) {
	var o observer
	p := access.Enforce(access.Token("secret"), limit.NewSet(), &o)
	user, status := p.Authenticate(t.Context(), "secret")
	require.Nil(t, status)
	p.Authenticate(t.Context(), "wrong")
	p.Authenticate(t.Context(), strings.Repeat("x", 17<<10))
	pods := access.Request{Resource: api.Resource{Version: "v1", Name: "pods"}, Verb: "get"}
	_, status = p.Authorize(t.Context(), user, pods)
	assert.Nil(t, status)
	pods.Name = strings.Repeat("x", 1<<10)
	_, status = p.Authorize(t.Context(), user, pods)
	assert.ErrorIs(t, status, api.BadRequest(""))
	assert.Equal(t, []string{
		"authenticated token: allowed", "authenticated -: Unauthorized", "authenticated -: RequestEntityTooLarge",
		"token get v1/pods: allowed", "token " + pods.String() + ": BadRequest",
	}, o.seen)
}

// lasting is a policy whose tokens expire at the time in the field until.
type lasting struct {
	access.Policy
	until time.Time
}

func (l lasting) Authenticate(context.Context, string) (*access.User, *api.Status) {
	return &access.User{Name: "ann", Expires: l.until}, nil
}

func TestAnExpiredUserIsRefused(t *testing.T) {
	_, status := access.Enforce(lasting{access.Everyone(), time.Now().Add(time.Hour)}, nil, nil).Authenticate(t.Context(), "t")
	assert.Nil(t, status)
	_, status = access.Enforce(lasting{access.Everyone(), time.Now()}, nil, nil).Authenticate(t.Context(), "t")
	assert.ErrorIs(t, status, api.Unauthorized(""))
}

func TestBlocks(t *testing.T) {
	for address, block := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8::1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
	} {
		ctx := access.WithClient(t.Context(), access.Client{Address: netip.MustParseAddr(address)})
		assert.Equal(t, netip.MustParsePrefix(block), access.ClientOf(ctx).Block(), address)
		assert.Equal(t, access.ClientOf(ctx).Block(), access.ClientOf(access.Renewing(ctx)).Block())
	}
	assert.False(t, access.ClientOf(t.Context()).Block().IsValid())
}
