package kube

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// Policy authenticates and authorizes readers through reviews that the cluster evaluates. A
// TokenReview returns the user of a token. A SubjectAccessReview decides whether that user
// may perform the verb of a request. A request without a verb needs two reviews, for list
// and watch. The credentials of the Source need the right to create reviews, which the
// ClusterRole system:auth-delegator grants.
//
// A policy with a TokenVerifier sends no TokenReviews, so it supports tokens that the
// cluster does not accept.
//
// Verdicts are cached for a short time, keyed by the SHA-256 of the question. Many readers
// with one token therefore cause one review. Callers authenticate and authorize again when
// a verdict expires. Refusals are cached separately from grants, for a shorter time. The
// number of reviews in flight is limited, overall and per client address. The number of
// refused tokens per address and the rate of reviews of one user's rights are limited as
// well.
type Policy struct {
	source  *Source
	limits  *limit.Set
	verify  TokenVerifier // nil if TokenReviews verify the tokens
	tokens  verdicts
	rights  verdicts
	rules   verdicts
	flights singleflight.Group

	inFlight *semaphore.Weighted
	mu       sync.Mutex
	waiting  map[netip.Prefix]int // number of reviews in flight, by address
	refused  *cache[netip.Prefix, *int]
	rates    *cache[string, *rate.Limiter] // by user; they limit the rate of reviews of rights

	tokenReviews, accessReviews atomic.Uint64
}

var (
	_ access.Policy  = (*Policy)(nil)
	_ access.Ruler   = (*Policy)(nil)
	_ access.Readier = (*Policy)(nil)
)

// TokenVerifier verifies tokens, such as the tokens of an OpenID Connect issuer. It is safe
// for concurrent use.
type TokenVerifier interface {
	// Verify returns the user of a token, or the reason for refusing it. The token is not
	// empty. The verdict is cached until the user's ReviewAt, but no longer than the
	// verdict of a TokenReview.
	Verify(ctx context.Context, token string) (*access.User, *api.Status)
	// Ready returns an error while no token can be verified.
	Ready() error
}

const (
	// grantTTL is the maximum time for which a grant is cached. The sum of grantTTL and
	// access.ReviewTimeout is less than a minute, within which a revocation must take
	// effect.
	grantTTL = access.ReviewInterval
	// refusalTTL is the time for which a refusal is cached, and thus the maximum delay
	// before a new right takes effect.
	refusalTTL = 10 * time.Second

	maxGrants   = 10_000
	maxRefusals = 1_000
	// maxRules limits the number of cached access.Rules, each of at most maxRulesBytes as
	// JSON. Longer rules are not cached, so each request for them causes a review.
	maxRules      = 100
	maxRulesBytes = 64 << 10
	// maxAddresses limits the addresses whose refused tokens are counted.
	maxAddresses = 10_000
	// maxUsers limits the users whose rate of reviews is tracked.
	maxUsers = 10_000
	// refusedWindow is the period to which limit.MaxRefusedTokens applies.
	refusedWindow = time.Minute
)

// question is the key of a cached verdict: the SHA-256 of a token, of a user and a
// request, or of a token and a namespace.
type question [sha256.Size]byte

// newQuestion hashes a question with its kind, so that a client cannot choose a token
// that is equal to a question of another kind.
func newQuestion(kind string, text []byte) question {
	return sha256.Sum256(append([]byte(kind+":"), text...))
}

// verdict is the response to a question: a user, a right or rules, or the reason for
// a refusal.
type verdict struct {
	user   *access.User
	rules  *access.Rules
	status *api.Status
	// once marks rules that are too long to be cached.
	once bool
}

// verdicts caches the verdicts of one kind. Grants and refusals have separate limits, so
// that refusals do not evict grants.
type verdicts struct {
	mu               sync.Mutex
	grants, refusals *cache[question, verdict]
}

func newVerdicts(grants, refusals int) verdicts {
	return verdicts{grants: newCache[question, verdict](grants), refusals: newCache[question, verdict](refusals)}
}

func (v *verdicts) get(q question, now time.Time) (found verdict, until time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if found, until, ok = v.grants.get(q, now); !ok {
		found, until, ok = v.refusals.get(q, now)
	}
	return found, until, ok
}

// put caches a verdict and returns when it expires. The lifetime begins at asked, the
// time when the review was sent. If the review failed, put caches nothing and returns the
// zero time.
func (v *verdicts) put(q question, decided verdict, asked, now time.Time) (until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case decided.once:
		until = asked
	case decided.status == nil:
		// The lifetime varies, so that readers that connected together, as after a
		// restart, are not all reviewed together.
		until = asked.Add(grantTTL - rand.N(grantTTL/5))
		if user := decided.user; user != nil && !user.ReviewAt.IsZero() && user.ReviewAt.Before(until) {
			until = user.ReviewAt
		}
		v.grants.put(q, decided, until, now)
	case access.Decided(decided.status):
		until = asked.Add(refusalTTL)
		v.refusals.put(q, decided, until, now)
	}
	return until
}

// Policy returns a policy that sends its reviews to the source's server. If limits is nil,
// the defaults apply.
func (s *Source) Policy(limits *limit.Set) *Policy { return s.PolicyFor(nil, limits) }

// PolicyFor returns a policy that authenticates users with verify, or with TokenReviews
// if verify is nil. The source's server authorizes them. If limits is nil, the defaults
// apply.
func (s *Source) PolicyFor(verify TokenVerifier, limits *limit.Set) *Policy {
	return &Policy{
		source: s, limits: limits, verify: verify,
		tokens: newVerdicts(maxGrants, maxRefusals), rights: newVerdicts(maxGrants, maxRefusals), rules: newVerdicts(maxRules, maxRules),
		inFlight: semaphore.NewWeighted(limits.Value(limit.MaxReviews)),
		waiting:  map[netip.Prefix]int{},
		refused:  newCache[netip.Prefix, *int](maxAddresses),
		rates:    newCache[string, *rate.Limiter](maxUsers),
	}
}

// Authenticate implements access.Policy.
func (p *Policy) Authenticate(ctx context.Context, token string) (*access.User, *api.Status) {
	if token == "" {
		return nil, api.Unauthorized("a token is required and none was presented: sign in with " + p.expected())
	}
	v, until := p.decide(ctx, &p.tokens, nil, newQuestion("token", []byte(token)), func(ctx context.Context) verdict {
		user, status := p.reviewToken(ctx, token)
		return verdict{user: user, status: status}
	})
	if v.status != nil {
		return nil, v.status
	}
	user := *v.user
	user.ReviewAt = until
	return &user, nil
}

func (p *Policy) expected() string {
	if p.verify != nil {
		return "an ID token of the issuer"
	}
	return "a bearer token of the cluster"
}

func (p *Policy) reviewToken(ctx context.Context, token string) (*access.User, *api.Status) {
	if p.verify != nil {
		return p.verify.Verify(ctx, token)
	}
	p.tokenReviews.Add(1)
	return p.source.reviewToken(ctx, token)
}

// Ready implements access.Readier.
func (p *Policy) Ready() error {
	if p.verify == nil {
		return nil
	}
	return p.verify.Ready()
}

// Authorize implements access.Policy.
func (p *Policy) Authorize(ctx context.Context, user *access.User, r access.Request) (time.Time, *api.Status) {
	who := *user
	who.ReviewAt, who.Expires, who.Impersonator = time.Time{}, time.Time{}, ""
	key, err := json.Marshal([]any{who, r})
	if err != nil {
		return time.Time{}, api.AsStatus(err)
	}
	v, until := p.decide(ctx, &p.rights, user, newQuestion("right", key), func(ctx context.Context) verdict {
		verbs := []string{r.Verb}
		if r.Verb == "" {
			verbs = []string{"list", "watch"}
		}
		for _, verb := range verbs {
			p.accessReviews.Add(1)
			asked := r
			asked.Verb = verb
			if status := p.source.reviewAccess(ctx, user, asked); status != nil {
				return verdict{status: status}
			}
		}
		return verdict{}
	})
	return until, v.status
}

// Rules implements access.Ruler. It sends the reader's own token to the cluster. It
// caches rules like other verdicts.
func (p *Policy) Rules(ctx context.Context, token string, user *access.User, namespace string) (*access.Rules, *api.Status) {
	switch {
	case token == "":
		return access.UnknownRules("the rules of a user without a token cannot be listed: use SelfSubjectAccessReview"), nil
	case p.verify != nil: // the cluster does not accept such tokens
		return access.UnknownRules("the rules of a user of another issuer cannot be listed: use SelfSubjectAccessReview"), nil
	}
	key, err := json.Marshal([]string{token, namespace})
	if err != nil {
		return nil, api.AsStatus(err)
	}
	v, _ := p.decide(ctx, &p.rules, user, newQuestion("rules", key), func(ctx context.Context) verdict {
		p.accessReviews.Add(1)
		rules, status := p.source.reviewRules(ctx, token, namespace)
		text, err := json.Marshal(rules)
		return verdict{rules: rules, status: status, once: err != nil || len(text) > maxRulesBytes}
	})
	return v.rules, v.status
}

// outcome is a verdict and the time when it expires.
type outcome struct {
	verdict
	until time.Time
	// limited marks a refusal because the client that started the review exceeded a
	// limit. Other clients that wait for the review try again.
	limited bool
}

// decide returns the verdict for the question q and the time when it expires. If the
// verdict is not cached, decide calls review. user is the user whose rights are in
// question, or nil if the question is about a token. Concurrent callers with the same
// question share one review. A review continues after ctx is done, because other callers
// may wait for it.
func (p *Policy) decide(ctx context.Context, v *verdicts, user *access.User, q question, review func(context.Context) verdict) (verdict, time.Time) {
	for {
		if found, until, ok := v.get(q, time.Now()); ok {
			return found, until
		}
		led := false
		flight := p.flights.DoChan(string(q[:]), func() (any, error) {
			led = true
			return p.review(ctx, v, user, q, review), nil
		})
		select {
		case result := <-flight:
			if a := result.Val.(outcome); led || !a.limited {
				return a.verdict, a.until
			}
		case <-ctx.Done():
			return verdict{status: api.Unavailable("the cluster did not respond to an access review in time")}, time.Time{}
		}
	}
}

func (p *Policy) review(ctx context.Context, v *verdicts, user *access.User, q question, review func(context.Context) verdict) outcome {
	if found, until, ok := v.get(q, time.Now()); ok { // another review of the same question has just ended
		return outcome{found, until, false}
	}
	done, status := p.begin(ctx, user)
	if status != nil {
		return outcome{verdict{status: status}, time.Time{}, true}
	}
	asked := time.Now()
	decided := review(context.WithoutCancel(ctx))
	done(decided.status)
	return outcome{decided, v.put(q, decided, asked, time.Now()), false}
}

// begin admits or refuses a review. A review that renews a grant waits until fewer than
// limit.MaxReviews are in flight. Any other review does not wait, and is refused if it
// exceeds a limit. After an admitted review, the caller calls done with the resulting
// status.
func (p *Policy) begin(ctx context.Context, user *access.User) (done func(*api.Status), refused *api.Status) {
	client := access.ClientOf(ctx)
	if client.Renewal {
		if p.inFlight.Acquire(ctx, 1) != nil {
			return nil, api.Unavailable("the cluster did not respond to an access review in time")
		}
		return func(*api.Status) { p.inFlight.Release(1) }, nil
	}
	if !p.inFlight.TryAcquire(1) {
		return nil, p.limits.Refuse(limit.MaxReviews, "the server is checking too many tokens and rights: try again")
	}
	if user != nil && !p.rateOf(user).Allow() {
		p.inFlight.Release(1)
		return nil, p.limits.Refuse(limit.MaxReviewRate, "too many of your rights are being checked: try again in a second")
	}
	done, refused = p.beginFor(client.Block(), user == nil)
	if refused != nil {
		p.inFlight.Release(1)
	}
	return done, refused
}

// beginFor applies the limits per address, if the address is known. The argument token
// marks the review of a token.
func (p *Policy) beginFor(block netip.Prefix, token bool) (done func(*api.Status), refused *api.Status) {
	if !block.IsValid() {
		return func(*api.Status) { p.inFlight.Release(1) }, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[block] >= p.limits.Int(limit.MaxReviewsPerAddress) {
		return nil, p.limits.Refuse(limit.MaxReviewsPerAddress, "too many tokens and rights of your address are being checked: try again")
	}
	var tokens *int
	if token {
		if tokens = p.refusedTokens(block); *tokens >= p.limits.Int(limit.MaxRefusedTokens) {
			return nil, p.limits.Refuse(limit.MaxRefusedTokens, "too many tokens of your address were refused: try again in a minute")
		}
		*tokens++ // the token counts as refused until the cluster accepts it
	}
	p.waiting[block]++
	return func(status *api.Status) {
		p.inFlight.Release(1)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.waiting[block]--; p.waiting[block] == 0 {
			delete(p.waiting, block)
		}
		if tokens != nil && (status == nil || !access.Decided(status)) {
			*tokens--
		}
	}, nil
}

// refusedTokens returns a counter of the tokens that were refused in the current window
// to clients with an address in block. The caller holds mu.
func (p *Policy) refusedTokens(block netip.Prefix) *int {
	now := time.Now()
	if n, _, ok := p.refused.get(block, now); ok {
		return n
	}
	n := new(int)
	p.refused.put(block, n, now.Add(refusedWindow), now)
	return n
}

// rateOf returns the limiter of the reviews that a user causes. Reviews of an
// impersonated user count for the impersonator.
func (p *Policy) rateOf(user *access.User) *rate.Limiter {
	const remembered = time.Minute // longer than the second after which an unused limiter is full again
	name := cmp.Or(user.Impersonator, user.Name)
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	limiter, _, ok := p.rates.get(name, now)
	if !ok {
		perSecond := p.limits.Int(limit.MaxReviewRate)
		limiter = rate.NewLimiter(rate.Limit(perSecond), perSecond)
	}
	p.rates.put(name, limiter, now.Add(remembered), now)
	return limiter
}

// Stats returns the numbers of reviews so far and of cached grants and refusals.
func (p *Policy) Stats() access.ReviewStats {
	s := access.ReviewStats{TokenReviews: p.tokenReviews.Load(), AccessReviews: p.accessReviews.Load()}
	for _, v := range []*verdicts{&p.tokens, &p.rights, &p.rules} {
		v.mu.Lock()
		s.Grants += v.grants.len()
		s.Refusals += v.refusals.len()
		v.mu.Unlock()
	}
	return s
}
