package oidc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/signin"
	"github.com/watchglass/watchglass/host/source/kube"
	"github.com/watchglass/watchglass/host/source/memory"
)

// cluster is a transport that answers SubjectAccessReviews in memory. All other requests
// fail, including TokenReviews.
type cluster struct {
	mu      sync.Mutex
	revoked bool
	users   []string // users of the reviews, with their groups
}

// RoundTrip implements http.RoundTripper.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	var review struct {
		Spec struct {
			User   string
			Groups []string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || !strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
		return respond(500, "unexpected request "+r.URL.Path), err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = append(c.users, strings.Join(append([]string{review.Spec.User}, review.Spec.Groups...), " "))
	return respond(201, map[string]any{"status": map[string]any{"allowed": !c.revoked}}), nil
}

func (c *cluster) revoke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revoked = true
}

func (c *cluster) policy(t *testing.T, v kube.TokenVerifier, limits *limit.Set) *kube.Policy {
	t.Helper()
	s, err := kube.New(kube.Config{REST: &rest.Config{Host: "http://cluster", Transport: c}})
	require.NoError(t, err)
	return s.PolicyFor(v, limits)
}

// served is a connector that authenticates its users by tokens of an issuer. It runs in
// virtual time.
type served struct {
	t         *testing.T
	issuer    *issuer
	cluster   *cluster
	policy    access.Policy
	connector *connector.Connector
}

func serve(t *testing.T, f func(s *served)) {
	synctest.Test(t, func(t *testing.T) {
		s := &served{t: t, issuer: newIssuer(key("rsa", rsaKey()), key("other", otherRSA())), cluster: &cluster{}}
		policy := s.cluster.policy(t, s.issuer.verifier(t, nil), nil)
		s.policy = signin.Impersonation(signin.Cookie("session", policy, limit.NewSet()), nil)
		s.connector = connector.New(connector.Config{Source: memory.New(), Access: s.policy, Logger: slog.New(slog.DiscardHandler)})
		f(s)
		require.NoError(t, s.connector.Close(context.Background()))
		time.Sleep(kube.DefaultRequestTimeout) // time for a review that is still running
	})
}

// subscribed connects a reader and subscribes. The returned function waits until the
// subscription ends, and returns the time of the end. If the token is empty, ctx must
// contain the reader's credentials.
func (s *served) subscribed(ctx context.Context, token string) (ended func() time.Time) {
	s.t.Helper()
	here, there := connectortest.Pipe()
	go s.connector.Serve(ctx, here)
	reader := connectortest.NewReader(there)
	require.NoError(s.t, reader.Hello(s.t.Context(), token))
	require.Nil(s.t, reader.Status)
	sub, err := reader.Subscribe(s.t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
	require.NoError(s.t, err)
	require.NoError(s.t, reader.UntilSynced(s.t.Context(), sub))
	require.Nil(s.t, sub.Status)
	end := make(chan time.Time, 1)
	go func() {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
		defer cancel()
		assert.NoError(s.t, reader.Until(ctx, func() bool { return sub.Status != nil || reader.Status != nil }))
		end <- time.Now()
		there.Close(nil)
	}()
	return func() time.Time { return <-end }
}

func (s *served) byToken(token string) func() time.Time { return s.subscribed(s.t.Context(), token) }

func (s *served) byCookie(token string) func() time.Time {
	header := http.Header{"Cookie": {"session=" + token}}
	return s.subscribed(access.WithClient(s.t.Context(), access.Client{Header: header}), "")
}

// byKubeAPI opens a watch of the Kubernetes API. The returned function waits until the
// watch ends, and returns the time of the end.
func (s *served) byKubeAPI(token string) func() time.Time {
	s.t.Helper()
	handler := kubeapi.New(kubeapi.Config{Backend: s.connector.Backend(), Access: s.policy})
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
	here, there := io.Pipe()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods?watch=1&resourceVersion=0", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	go func() {
		handler.ServeHTTP(&pipeWriter{http.Header{}, there}, request)
		there.Close()
		cancel()
	}()
	end := make(chan time.Time, 1)
	go func() {
		line, _ := bufio.NewReader(here).ReadString('\n')
		assert.Contains(s.t, line, `"type":"ERROR"`)
		end <- time.Now()
		io.Copy(io.Discard, here)
	}()
	synctest.Wait()
	return func() time.Time { return <-end }
}

// pipeWriter is an http.ResponseWriter whose output can be read while it is written.
type pipeWriter struct {
	header http.Header
	pipe   *io.PipeWriter
}

func (w *pipeWriter) Header() http.Header         { return w.header }
func (w *pipeWriter) WriteHeader(int)             {}
func (w *pipeWriter) Write(b []byte) (int, error) { return w.pipe.Write(b) }
func (w *pipeWriter) Flush()                      {}

var signIns = map[string]func(*served, string) func() time.Time{
	"token": (*served).byToken, "cookie": (*served).byCookie, "kube-api": (*served).byKubeAPI,
}

const revocationBound = time.Minute // as documented

func TestGrantsEndWithinAMinute(t *testing.T) {
	for name, open := range signIns {
		for cause, revoke := range map[string]func(*served){
			"right": func(s *served) { s.cluster.revoke() },
			"key":   func(s *served) { s.issuer.set(func() { s.issuer.keys = s.issuer.keys[1:] }) },
			"all keys of an issuer that responds slowly": func(s *served) {
				s.issuer.set(func() { s.issuer.keys, s.issuer.takes = s.issuer.keys[1:], 3*time.Second })
			},
		} {
			for _, after := range []time.Duration{0, 37 * time.Second, 44 * time.Second, 70 * time.Second} {
				t.Run(name+"/"+cause+"/"+after.String(), func(t *testing.T) {
					serve(t, func(s *served) {
						first := open(s, good(nil))
						time.Sleep(after)
						second := open(s, good(claims{"jti": "second"}))
						revoke(s)
						revoked := time.Now()
						for n, ended := range []func() time.Time{first, second} {
							assert.LessOrEqual(t, ended().Sub(revoked), revocationBound, "client %d", n)
						}
					})
				})
			}
		}
	}
}

// Until the verifier reloads the keys, a client can connect with a token that a withdrawn
// key has signed. The access of this client also ends within a minute after the
// withdrawal.
func TestAKeyThatIsAlreadyWithdrawnGrantsLessThanAMinute(t *testing.T) {
	for name, open := range signIns {
		t.Run(name, func(t *testing.T) {
			serve(t, func(s *served) {
				first := open(s, good(nil))
				s.issuer.set(func() { s.issuer.keys = s.issuer.keys[1:] })
				withdrawn := time.Now()
				time.Sleep(keysAge)
				second := open(s, good(claims{"jti": "second"}))
				for n, ended := range []func() time.Time{first, second} {
					assert.LessOrEqual(t, ended().Sub(withdrawn), revocationBound, "client %d", n)
				}
			})
		})
	}
}

// keysAge is an age at which the verifier still uses keys without reloading them.
const keysAge = 38 * time.Second

func TestExpiryOfTheTokenEndsGrantsImmediately(t *testing.T) {
	for name, open := range signIns {
		for _, down := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				serve(t, func(s *served) {
					expires := time.Now().Add(130 * time.Second).Truncate(time.Second)
					ended := open(s, good(claims{"exp": expires.Unix()}))
					s.issuer.set(func() { s.issuer.down = down })
					assert.True(t, expires.Equal(ended()))
				})
			})
		}
	}
}

// A session continues while the issuer does not respond, and when the issuer rotates its
// keys.
func TestSessionsSurviveTheIssuer(t *testing.T) {
	for name, open := range signIns {
		t.Run(name, func(t *testing.T) {
			serve(t, func(s *served) {
				ended := open(s, good(claims{"exp": time.Now().Add(25 * time.Minute).Unix()})) // the token expires before the default timeout of a watch
				opened := time.Now()
				time.Sleep(5 * time.Minute)
				s.issuer.set(func() { s.issuer.down = true })
				time.Sleep(10 * time.Minute)
				s.issuer.set(func() {
					s.issuer.down, s.issuer.keys = false, []jose.JSONWebKey{key("new", ecKey()), key("rsa", rsaKey())}
				})
				assert.Equal(t, 25*time.Minute, ended().Sub(opened).Round(time.Second))
				assert.LessOrEqual(t, s.issuer.loads(), 40, "about one in 45 seconds")
			})
		})
	}
}

func TestRightsComeFromTheUserAndGroups(t *testing.T) {
	i, c := newIssuer(key("rsa", rsaKey())), &cluster{}
	p := c.policy(t, i.verifier(t, groupsAs("acme:")), nil)
	user, refused := p.Authenticate(t.Context(), good(claims{"groups": []string{"devs"}}))
	require.Nil(t, refused)
	_, refused = p.Authorize(t.Context(), user, access.Request{Resource: api.Resource{Version: "v1", Name: "pods"}, Verb: "list"})
	require.Nil(t, refused)
	assert.Equal(t, []string{issuerURL + "#ann acme:devs system:authenticated"}, c.users)
	rules, refused := p.Rules(t.Context(), good(nil), user, "default")
	require.Nil(t, refused)
	assert.True(t, rules.Incomplete)
	assert.Len(t, c.users, 1, "the token is not sent to the cluster")
	_, refused = p.Authenticate(t.Context(), "")
	assert.ErrorIs(t, refused, api.Unauthorized(""))
	stats := p.Stats()
	assert.Zero(t, stats.TokenReviews)
	assert.EqualValues(t, 1, stats.AccessReviews)
}

func TestRefusedTokensAreLimitedAndCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(key("rsa", rsaKey()))
		limits := limit.NewSet().With(limit.MaxRefusedTokens, 5)
		p := (&cluster{}).policy(t, i.verifier(t, nil), limits)
		attacker := access.WithClient(t.Context(), access.Client{Address: netip.MustParseAddr("192.0.2.1")})
		forged := token(jwt.SigningMethodRS256, "rsa", otherRSA(), nil)
		for range 20 {
			_, refused := p.Authenticate(attacker, forged)
			assert.ErrorIs(t, refused, api.Unauthorized(""), "one token counts once")
		}
		var codes []int
		for n := range 6 {
			_, refused := p.Authenticate(attacker, forged+strings.Repeat("A", n+1))
			codes = append(codes, refused.Code)
		}
		assert.Equal(t, []int{401, 401, 401, 401, 429, 429}, codes)
		victim := access.WithClient(t.Context(), access.Client{Address: netip.MustParseAddr("192.0.2.2")})
		_, refused := p.Authenticate(victim, good(nil))
		assert.Nil(t, refused)
		long := access.Enforce(p, limits, nil)
		_, refused = long.Authenticate(victim, strings.Repeat("x", limits.Int(limit.MaxTokenBytes)+1))
		require.NotNil(t, refused)
		assert.Equal(t, 413, refused.Code)
	})
}

func TestTokensAreNotLogged(t *testing.T) {
	i := newIssuer(key("rsa", rsaKey()))
	var log bytes.Buffer
	v := i.verifier(t, logTo(&log))
	i.down = true
	signed := good(nil)
	assert.Equal(t, 503, code(v, signed))
	for part := range strings.SplitSeq(signed, ".") {
		assert.NotContains(t, log.String(), part)
	}
	assert.NotEmpty(t, log.String())
}
