package kube_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source/kube"
)

// reviewer serves reviews in memory, so that time can be virtual. The token "t-NAME"
// belongs to NAME, as does a JWT whose subject is NAME.
type reviewer struct {
	mu sync.Mutex
	// badToken makes reviews reject ann's token, and badRights all of her rights.
	badToken, badRights bool
	// decided is called with the kind of each review ("token" or "right") after the
	// decision, under the lock.
	decided func(kind string)
	// takes is the time between the decision on a review and the response.
	takes time.Duration
	// hold delays responses until it is closed.
	hold           chan struct{}
	tokens, rights int // number of reviews
}

func (r *reviewer) policy(t *testing.T, limits *limit.Set) *kube.Policy {
	t.Helper()
	s, err := kube.New(kube.Config{REST: &rest.Config{Host: "http://cluster", Transport: r}})
	require.NoError(t, err)
	return s.Policy(limits)
}

// RoundTrip implements http.RoundTripper.
func (r *reviewer) RoundTrip(req *http.Request) (*http.Response, error) {
	var review struct {
		Spec struct{ Token, User string }
	}
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		return nil, err
	}
	r.mu.Lock()
	hold, kind := r.hold, "right"
	var body string
	if strings.HasSuffix(req.URL.Path, "/tokenreviews") {
		r.tokens++
		kind = "token"
		name := holder(review.Spec.Token)
		body = fmt.Sprintf(`{"status":{"authenticated":%v,"user":{"username":%q}}}`, name != "" && !(name == "ann" && r.badToken), name)
	} else {
		r.rights++
		body = fmt.Sprintf(`{"status":{"allowed":%v}}`, !(review.Spec.User == "ann" && r.badRights))
	}
	if r.decided != nil {
		r.decided(kind)
	}
	r.mu.Unlock()
	time.Sleep(r.takes)
	if hold != nil {
		select {
		case <-hold:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func holder(token string) string {
	if name, ok := strings.CutPrefix(token, "t-"); ok {
		return name
	}
	var claims struct{ Sub string }
	if parts := strings.Split(token, "."); len(parts) == 3 {
		decodeSegment(parts[1], &claims)
	}
	return claims.Sub
}

func decodeSegment(segment string, into any) {
	if text, err := base64.RawURLEncoding.DecodeString(segment); err == nil {
		json.Unmarshal(text, into) // a token that is not a JWT has no subject
	}
}

// unsigned returns a JWT with an invalid signature. Only a real cluster would check the
// signature.
func unsigned(t *testing.T, claims map[string]any) string {
	t.Helper()
	var segments [2]string
	for i, part := range []any{map[string]string{"alg": "RS256", "typ": "JWT"}, claims} {
		text, err := json.Marshal(part)
		require.NoError(t, err)
		segments[i] = base64.RawURLEncoding.EncodeToString(text)
	}
	return segments[0] + "." + segments[1] + ".c2lnbmF0dXJl"
}

func (r *reviewer) seen() (tokens, rights int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens, r.rights
}

func (r *reviewer) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func from(t *testing.T, address string) context.Context {
	t.Helper()
	return access.WithClient(t.Context(), access.Client{Address: netip.MustParseAddr(address)})
}

func randomToken() string { return rand.Text() + strings.Repeat("x", 12<<10) }

func TestRandomTokensOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{}
		limits := limit.NewSet()
		p := r.policy(t, limits)
		attacker := from(t, "192.0.2.1")
		_, status := p.Authenticate(attacker, "t-ann")
		require.Nil(t, status)

		codes := map[int]int{}
		for range 5000 {
			_, status := p.Authenticate(attacker, randomToken())
			require.NotNil(t, status)
			codes[status.Code]++
			if status.Code == 429 {
				assert.Equal(t, "max-refused-tokens", status.Cause)
				assert.NotRegexp(t, `\d`, status.Message, "the refusal has no numbers")
			}
		}
		budget := limits.Int(limit.MaxRefusedTokens)
		tokens, _ := r.seen()
		assert.Equal(t, budget+1, tokens)
		assert.Equal(t, map[int]int{401: budget, 429: 5000 - budget}, codes)
		assert.EqualValues(t, 5000-budget, limits.Refusals(limit.MaxRefusedTokens))
		assert.Equal(t, access.ReviewStats{TokenReviews: uint64(budget) + 1, Grants: 1, Refusals: budget}, p.Stats())
		assert.Less(t, p.CachedBytes(), budget*256)

		_, status = p.Authenticate(attacker, "t-ann")
		assert.Nil(t, status, "a token that was accepted is not affected")
		_, status = p.Authenticate(from(t, "192.0.2.2"), "t-ben")
		assert.Nil(t, status, "other addresses are not affected")
		_, status = p.Authenticate(attacker, "t-eve")
		require.NotNil(t, status)
		assert.Equal(t, 429, status.Code)

		time.Sleep(time.Minute)
		_, status = p.Authenticate(attacker, "t-eve")
		assert.Nil(t, status, "the minute is over")
		assert.Equal(t, 1, p.Stats().Grants, "expired verdicts are forgotten")
		assert.Zero(t, p.Stats().Refusals)
	})
}

func TestRandomTokensOfManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{}
		p := r.policy(t, nil)
		ann := from(t, "192.0.2.1")
		_, status := p.Authenticate(ann, "t-ann")
		require.Nil(t, status)
		for i := range 12_000 {
			block := netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 4: byte(i >> 8), 5: byte(i)})
			_, status := p.Authenticate(access.WithClient(t.Context(), access.Client{Address: block}), rand.Text())
			require.ErrorIs(t, status, api.Unauthorized(""))
		}
		assert.Less(t, p.CachedBytes(), 1<<20)
		assert.Equal(t, 10_000, p.Addresses())
		assert.Equal(t, 1000, p.Stats().Refusals)
		before, _ := r.seen()
		_, status = p.Authenticate(ann, "t-ann")
		require.Nil(t, status)
		after, _ := r.seen()
		assert.Equal(t, before, after, "refusals do not displace grants")

		time.Sleep(time.Minute)
		_, status = p.Authenticate(ann, "t-ann")
		require.Nil(t, status)
		assert.Equal(t, 1, p.Addresses())
	})
}

func TestAddressesOfOneIPv6NetworkCountTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := (&reviewer{}).policy(t, limit.NewSet().With(limit.MaxRefusedTokens, 2))
		for _, c := range []struct {
			address string
			code    int
		}{
			{"2001:db8::1", 401}, {"2001:db8::2:0:0:1", 401}, {"2001:db8::3%eth0", 429}, {"2001:db8:0:1::1", 401},
			{"::ffff:192.0.2.1", 401}, {"192.0.2.1", 401}, {"192.0.2.1", 429}, {"192.0.2.2", 401},
		} {
			_, status := p.Authenticate(from(t, c.address), randomToken())
			require.NotNil(t, status)
			assert.Equal(t, c.code, status.Code, c.address)
		}
	})
}

func TestReviewsInFlightAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{hold: make(chan struct{})}
		limits := limit.NewSet().With(limit.MaxReviews, 3).With(limit.MaxReviewsPerAddress, 2)
		p := r.policy(t, limits)
		answers := make(chan *api.Status, 10)
		authenticate := func(ctx context.Context, token string) {
			go func() {
				_, status := p.Authenticate(ctx, token)
				answers <- status
			}()
			synctest.Wait()
		}
		authenticate(from(t, "192.0.2.1"), "t-a")
		authenticate(from(t, "192.0.2.1"), "t-b")
		authenticate(from(t, "192.0.2.1"), "t-b") // shares the review of the previous call, and does not count towards the limit
		authenticate(from(t, "192.0.2.1"), "t-c")
		assert.Equal(t, "max-reviews-per-address", (<-answers).Cause)
		authenticate(from(t, "192.0.2.2"), "t-d")
		authenticate(from(t, "192.0.2.3"), "t-e")
		refused := <-answers
		assert.Equal(t, "max-reviews", refused.Cause)
		assert.Equal(t, 429, refused.Code)
		assert.EqualValues(t, 1, limits.Refusals(limit.MaxReviews))
		assert.EqualValues(t, 1, limits.Refusals(limit.MaxReviewsPerAddress))

		authenticate(access.Renewing(from(t, "192.0.2.1")), "t-f")
		assert.Empty(t, answers, "a renewal waits")
		tokens, _ := r.seen()
		assert.Equal(t, 3, tokens)

		close(r.hold)
		for range 5 { // the calls with t-a, t-b (twice), t-d and t-f
			assert.Nil(t, <-answers)
		}
		tokens, _ = r.seen()
		assert.Equal(t, 4, tokens)
		authenticate(from(t, "192.0.2.1"), "t-c")
		assert.Nil(t, <-answers)
		assert.Zero(t, p.Waiting())
	})
}

// A client that waits for the review of another client is not refused when the other
// client gives up.
func TestAClientDoesNotInheritTheRefusalOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{hold: make(chan struct{})}
		p := r.policy(t, limit.NewSet().With(limit.MaxReviews, 1))
		answers := make(chan *api.Status, 3)
		authenticate := func(ctx context.Context, token string) {
			_, status := p.Authenticate(ctx, token)
			answers <- status
		}
		go authenticate(from(t, "192.0.2.1"), "t-a")
		synctest.Wait()
		hurried, cancel := context.WithTimeout(access.Renewing(from(t, "192.0.2.2")), time.Second)
		defer cancel()
		go authenticate(hurried, "t-b")
		synctest.Wait()
		patient, cancel := context.WithTimeout(access.Renewing(from(t, "192.0.2.3")), 5*time.Second)
		defer cancel()
		go authenticate(patient, "t-b")
		assert.Equal(t, 503, (<-answers).Code, "the first one gives up")
		close(r.hold)
		for range 2 {
			assert.Nil(t, <-answers)
		}
	})
}

func TestAnAcceptedJWTEndsWithItsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := access.Enforce((&reviewer{}).policy(t, nil), nil, nil)
		expires := time.Now().Add(20 * time.Second).Truncate(time.Second)
		token := unsigned(t, map[string]any{"sub": "ann", "exp": expires.Unix()})
		user, status := p.Authenticate(t.Context(), token)
		require.Nil(t, status)
		assert.True(t, expires.Equal(user.Expires), user.Expires)
		time.Sleep(20 * time.Second)
		_, status = p.Authenticate(t.Context(), token)
		require.ErrorIs(t, status, api.Unauthorized(""), "although the cluster would accept it")
		assert.Contains(t, status.Message, "expired")

		for _, without := range []map[string]any{{"sub": "ann"}, {"sub": "ann", "exp": "soon"}} {
			user, status = p.Authenticate(t.Context(), unsigned(t, without))
			require.Nil(t, status)
			assert.Zero(t, user.Expires)
		}
	})
}

func TestReviewsOfOneUsersRightsAreLimitedBySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{}
		limits := limit.NewSet().With(limit.MaxReviewRate, 5)
		p := r.policy(t, limits)
		asked := 0
		ask := func(client access.Client, user access.User) *api.Status {
			asked++
			_, status := p.Authorize(access.WithClient(t.Context(), client), &user,
				access.Request{Verb: "get", Resource: api.Resource{Version: "v1", Name: "pods"}, Namespace: fmt.Sprintf("ns-%d", asked)})
			return status
		}
		ann, bob := access.User{Name: "ann"}, access.User{Name: "bob"}
		for i := range 8 {
			address := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
			status := ask(access.Client{Address: address}, ann)
			if i < 5 {
				require.Nil(t, status)
				continue
			}
			require.NotNil(t, status, "another address is not another user")
			assert.Equal(t, 429, status.Code)
			assert.Equal(t, "max-review-rate", status.Cause)
			assert.NotRegexp(t, `\d`, status.Message, "the refusal has no numbers")
		}
		_, rights := r.seen()
		assert.Equal(t, 5, rights)
		assert.EqualValues(t, 3, limits.Refusals(limit.MaxReviewRate))

		require.Nil(t, ask(access.Client{}, bob), "another user")
		require.Nil(t, ask(access.Client{Renewal: true}, ann), "the renewal of a grant")
		require.NotNil(t, ask(access.Client{}, access.User{Name: "carol", Impersonator: "ann"}), "ann pays for those whom she impersonates")
		require.Nil(t, ask(access.Client{}, access.User{Name: "carol"}))

		time.Sleep(time.Second)
		for range 5 {
			require.Nil(t, ask(access.Client{}, ann))
		}
		require.NotNil(t, ask(access.Client{}, ann))
	})
}
