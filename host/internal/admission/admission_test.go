package admission

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// rig is a Control whose connections have names. It records the names of the connections
// that the Control closes.
type rig struct {
	*Control
	conns map[string]*Conn
	shed  []string
}

func newRig(limits *limit.Set) *rig {
	return &rig{Control: New(limits, nil), conns: map[string]*Conn{}}
}

func (r *rig) open(name, address string) *Conn {
	var a netip.Addr
	if address != "" {
		a = netip.MustParseAddr(address)
	}
	r.conns[name] = r.Open(a, func() { r.shed = append(r.shed, name) })
	return r.conns[name]
}

const here, there, elsewhere = "192.0.2.1", "192.0.2.2", "2001:db8::1"

func TestTheOldestOfTheHeaviestAddressIsShed(t *testing.T) {
	r := newRig(limit.NewSet().With(limit.MaxUnauthenticated, 4))
	r.open("old", there)
	r.open("a1", here)
	r.open("a2", here)
	r.open("a3", here)
	assert.Empty(t, r.shed)
	r.open("a4", here)
	assert.Equal(t, []string{"a1"}, r.shed)
	r.open("b2", there)
	assert.Equal(t, []string{"a1", "a2"}, r.shed)
	r.open("c1", elsewhere)
	assert.Equal(t, []string{"a1", "a2", "old"}, r.shed, "the older of two equally heavy connections")
	assert.EqualValues(t, 3, r.limits.Refusals(limit.MaxUnauthenticated))
	require.NotNil(t, r.conns["a1"].Admit(&access.User{Name: "ann"}), "shed connections are not counted again")
	assert.Nil(t, r.conns["a3"].Admit(&access.User{Name: "ann"}))
}

func TestUndecidedConnectionIsNotShed(t *testing.T) {
	r := newRig(limit.NewSet().With(limit.MaxUnauthenticated, 2))
	r.open("a", here).Deciding()
	r.open("b", here).Deciding()
	r.open("c", there)
	assert.Equal(t, []string{"c"}, r.shed, "the newest, as the others are not silent")
	r.conns["a"].Release()
	r.open("d", there)
	assert.Equal(t, []string{"c", "a"}, r.shed)
}

func TestUnauthenticatedConnectionsOfAnAddressAreLimited(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxUnauthenticatedPerAddress, 2)
	r := newRig(limits)
	for i, address := range []string{here, here, there, here, "2001:db8::1", "2001:db8::2", "2001:db8::3", "", "", ""} {
		r.open(fmt.Sprint(i), address)
	}
	assert.Equal(t, []string{"0", "4"}, r.shed, "an unknown address has no limit of its own")
	assert.EqualValues(t, 2, limits.Refusals(limit.MaxUnauthenticatedPerAddress))
}

func TestUsersAndAddressesHaveTheirShareOfConnections(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxConnectionsPerUser, 2).With(limit.MaxConnectionsPerAddress, 4)
	r := newRig(limits)
	admit := func(name, address, user string) string {
		status := r.open(name, address).Admit(&access.User{Name: user, Shared: user == "anyone"})
		if status == nil {
			return ""
		}
		assert.Equal(t, 429, status.Code)
		assert.NotRegexp(t, `\d`, status.Message)
		return status.Cause
	}
	assert.Empty(t, admit("1", here, "ann"))
	assert.Empty(t, admit("2", there, "ann"))
	assert.Equal(t, "max-connections-per-user", admit("3", there, "ann"))
	assert.Empty(t, admit("4", here, "ben"))
	assert.Empty(t, admit("5", elsewhere, "anyone"))
	assert.Empty(t, admit("6", elsewhere, "anyone"))
	assert.Empty(t, admit("7", elsewhere, "anyone"))
	assert.Empty(t, admit("8", elsewhere, "anyone"))
	assert.Equal(t, "max-connections-per-address", admit("9", elsewhere, "anyone"))
	assert.EqualValues(t, 1, limits.Refusals(limit.MaxConnectionsPerUser))
	assert.EqualValues(t, 1, limits.Refusals(limit.MaxConnectionsPerAddress))
	assert.Empty(t, r.shed)

	r.conns["1"].Release()
	assert.Nil(t, r.conns["3"].Admit(&access.User{Name: "ann"}))
	r.conns["5"].Close()
	assert.Nil(t, r.conns["9"].Admit(&access.User{Name: "anyone", Shared: true}))
	assert.NotNil(t, r.conns["1"].Admit(&access.User{Name: "ann"}))
}

func TestADetachedConnectionKeepsItsUserUntilItCloses(t *testing.T) {
	r := newRig(limit.NewSet().With(limit.MaxConnectionsPerUser, 1))
	ann := &access.User{Name: "ann"}
	first := r.open("first", here)
	require.Nil(t, first.Admit(ann))
	first.Detach()
	first.Release()
	assert.NotNil(t, r.open("second", here).Admit(ann), "the first one still counts")
	first.Close()
	assert.Nil(t, r.open("third", here).Admit(ann))
}

// After any sequence of events, the counts equal the actual numbers of connections.
func TestCountsAreExact(t *testing.T) {
	addresses := []string{here, there, elsewhere, ""}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := newRig(limit.NewSet().With(limit.MaxUnauthenticated, 6).With(limit.MaxUnauthenticatedPerAddress, 3).
			With(limit.MaxConnectionsPerUser, 3).With(limit.MaxConnectionsPerAddress, 4))
		var conns []*Conn
		for i := range 200 {
			if len(conns) == 0 || random.IntN(3) == 0 {
				conns = append(conns, r.open(fmt.Sprint(i), addresses[random.IntN(len(addresses))]))
				continue
			}
			conn := conns[random.IntN(len(conns))]
			switch random.IntN(5) {
			case 0:
				conn.Deciding()
			case 1:
				conn.Admit(&access.User{Name: fmt.Sprint("user", random.IntN(3)), Shared: random.IntN(2) == 0})
			case 2:
				conn.Release()
			case 3:
				conn.Close()
			case 4:
				conn.move(netip.MustParsePrefix("192.0.2.9/32"))
			}
			strangers, users := map[netip.Prefix]int{}, 0
			undecided := 0
			for _, c := range conns {
				switch c.state {
				case silent:
					strangers[c.block]++
				case deciding:
					strangers[c.block]++
					undecided++
				case admitted:
					users++
				}
			}
			total := 0
			for block, n := range strangers {
				total += n
				require.Equal(t, n, r.waiting[block].len())
			}
			require.Len(t, r.waiting, len(strangers))
			unauthenticated, authenticated := r.Counts()
			require.Equal(t, total, unauthenticated)
			require.Equal(t, users, authenticated)
			require.LessOrEqual(t, total-undecided, 6)
		}
		for _, c := range conns {
			c.Close()
		}
		assert.Empty(t, r.waiting)
		assert.Empty(t, r.addresses)
		assert.Empty(t, r.users)
	}
}

func TestTheClientOfATrustedProxy(t *testing.T) {
	c := New(nil, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")})
	for _, test := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:5", []string{"203.0.113.1"}, "192.0.2.1"},
		{"10.0.0.1:5", nil, "10.0.0.1"},
		{"10.0.0.1:5", []string{"203.0.113.1"}, "203.0.113.1"},
		{"10.0.0.1:5", []string{"198.51.100.7, 203.0.113.1"}, "203.0.113.1"},
		{"10.0.0.1:5", []string{"198.51.100.7", "203.0.113.1, 10.9.9.9"}, "203.0.113.1"},
		{"10.0.0.1:5", []string{"203.0.113.1, nonsense"}, "10.0.0.1"},
		{"[::1]:5", []string{"2001:db8::1"}, "2001:db8::1"},
		{"[::ffff:10.0.0.1]:5", []string{"::ffff:203.0.113.1"}, "203.0.113.1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = test.peer, test.forwarded
		identified, done := c.Identify(r)
		defer done()
		assert.Equal(t, test.want, access.ClientOf(identified.Context()).Address.String(), "%+v", test)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "pipe"
	identified, done := c.Identify(r)
	defer done()
	assert.False(t, access.ClientOf(identified.Context()).Address.IsValid())
}

func TestRequestIDsComeFromTrustedProxiesOnly(t *testing.T) {
	c := New(nil, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	id := func(peer, header string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = peer
		r.Header.Set(RequestIDHeader, header)
		identified, done := c.Identify(r)
		defer done()
		return access.ClientOf(identified.Context()).RequestID
	}
	assert.Equal(t, "7f3a-b/1", id("10.0.0.1:5", "7f3a-b/1"))
	for _, invalid := range []string{"", "a b", "a\nb", "\"", strings.Repeat("x", 65)} {
		got := id("10.0.0.1:5", invalid)
		assert.Regexp(t, "^[A-Z2-7]{26}$", got)
		assert.NotEqual(t, got, id("10.0.0.1:5", invalid), "each request has its own")
	}
	assert.NotEqual(t, "7f3a-b/1", id("192.0.2.1:5", "7f3a-b/1"))
}
