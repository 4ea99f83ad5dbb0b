package kubeapi

import (
	"context"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

func TestClientsShareRemainingSeats(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxRequests, 400)
	s := newSeats(limits, limit.MaxRequests)
	var leave []func()
	fill := func(client string) (taken int) {
		for {
			left, refused := s.take(client, 1)
			if refused != nil {
				assert.Equal(t, 429, refused.Code)
				assert.Equal(t, "max-requests", refused.Cause)
				return taken
			}
			taken++
			leave = append(leave, left)
		}
	}
	assert.Equal(t, []int{200, 100, 50, 25}, []int{fill("a"), fill("b"), fill("c"), fill("d")})
	assert.Equal(t, 375, s.inUse())
	assert.EqualValues(t, 4, limits.Refusals(limit.MaxRequests))
	for _, f := range leave {
		f()
	}
	assert.Zero(t, s.inUse())
	assert.Empty(t, s.clients, "users without seats are forgotten")
}

func TestClientsAreDistinguishedByUserOrAddress(t *testing.T) {
	request := func(address string) *http.Request { return &http.Request{RemoteAddr: address} }
	alice, shared := &access.User{Name: "alice"}, &access.User{Name: "token", Shared: true}
	assert.Equal(t, clientOf(request("10.0.0.1:1"), alice), clientOf(request("10.0.0.2:1"), alice))
	assert.NotEqual(t, clientOf(request("10.0.0.1:1"), alice), clientOf(request("10.0.0.1:1"), &access.User{Name: "bob"}))
	assert.NotEqual(t, clientOf(request("10.0.0.1:1"), shared), clientOf(request("10.0.0.2:1"), shared))
	assert.Equal(t, clientOf(request("10.0.0.1:1"), shared), clientOf(request("10.0.0.1:2"), nil))

	proxied := request("10.0.0.1:1")
	proxied = proxied.WithContext(access.WithClient(context.Background(), access.Client{Address: netip.MustParseAddr("192.0.2.7")}))
	assert.Equal(t, clientOf(request("192.0.2.7:1"), nil), clientOf(proxied, nil), "the client's address, not the proxy's")
	require.NotPanics(t, func() { clientOf(request("pipe"), nil) })
}
