package connector_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
)

// book is a policy that maps each token to the requests that its user may make. The token
// is also the user name.
type book struct {
	mu     sync.Mutex
	rights map[string][]string
	down   bool
	asked  int
}

func (b *book) Authenticate(_ context.Context, token string) (*access.User, *api.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.down {
		return nil, api.Unavailable("the policy cannot decide")
	}
	if _, ok := b.rights[token]; !ok {
		return nil, api.Unauthorized("unknown token")
	}
	return &access.User{Name: token}, nil
}

func (b *book) Authorize(_ context.Context, user *access.User, r access.Request) (time.Time, *api.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return time.Time{}, api.Unavailable("the policy cannot decide")
	}
	if !slices.Contains(b.rights[user.Name], r.String()) {
		return time.Time{}, api.Forbidden(user.Name + " may not read " + r.String())
	}
	return time.Time{}, nil
}

func (b *book) requestCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

func (b *book) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

func (w *world) readerAs(token string) (*connectortest.Reader, func() error) {
	r, _, result := w.connect()
	require.NoError(w.t, r.Hello(w.t.Context(), token))
	return r, result
}

const inDefault = "v1/pods in namespace default"

func TestReadersReceiveOnlyPermittedObjects(t *testing.T) {
	rules := &book{rights: map[string][]string{"ann": {"v1/pods"}, "ben": {inDefault, "v1/pods pod-00002"}}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		w.fill(3)
		ann, _ := w.readerAs("ann")
		all := w.subscribe(ann, wire.Subscribe{})
		require.NoError(t, ann.UntilSynced(t.Context(), all))
		assert.Len(t, all.Objects, 3)

		ben, _ := w.readerAs("ben")
		for _, c := range []struct {
			subscribe wire.Subscribe
			code      int
		}{
			{wire.Subscribe{}, 403},
			{wire.Subscribe{Namespace: "default"}, 0},
			{wire.Subscribe{FieldSelector: "metadata.namespace=default"}, 403},
			{wire.Subscribe{FieldSelector: "metadata.name=pod-00002"}, 0},
			{wire.Subscribe{FieldSelector: "metadata.name!=pod-00002"}, 403},
			{wire.Subscribe{Namespace: "kube-system"}, 403},
			{wire.Subscribe{Resource: "v1/secrets"}, 403},
			{wire.Subscribe{Resource: "v1/nothing"}, 403}, // A 404 would disclose that the resource does not exist.
		} {
			c.subscribe.Subscription++
			s := w.subscribe(ben, c.subscribe)
			require.NoError(t, ben.UntilSynced(t.Context(), s))
			if c.code == 0 {
				assert.Nil(t, s.Status, "%+v", c.subscribe)
				require.NoError(t, ben.Send(t.Context(), &wire.Unsubscribe{Subscription: s.ID}))
				continue
			}
			require.NotNil(t, s.Status, "%+v", c.subscribe)
			assert.Equal(t, c.code, s.Status.Code)
			assert.Empty(t, s.Objects)
			assert.Nil(t, s.Schema, "not even its schema")
		}
	})
}

// A reader that may not read a resource always receives the same refusal after the same
// delay. Neither depends on whether the resource exists or another reader has it open.
func TestRefusalsDoNotDependOnWhatOthersHaveOpen(t *testing.T) {
	rules := &book{rights: map[string][]string{"ann": {"v1/pods"}, "ben": {}}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		w.fill(3)
		ben, _ := w.readerAs("ben")
		id := uint32(0)
		refusal := func(resource, namespace string) string {
			began := time.Now()
			id++
			s := w.subscribe(ben, wire.Subscribe{Subscription: id, Resource: resource, Namespace: namespace})
			require.NoError(t, ben.UntilSynced(t.Context(), s))
			require.NotNil(t, s.Status, resource)
			assert.Zero(t, time.Since(began), "in virtual time")
			return strings.ReplaceAll(s.Status.Error(), resource, "RESOURCE")
		}
		closed := refusal("v1/pods", "default")
		ann, _ := w.readerAs("ann")
		all := w.subscribe(ann, wire.Subscribe{Subscription: 1})
		require.NoError(t, ann.UntilSynced(t.Context(), all))
		require.Len(t, w.connector.Stats().Resources, 1)
		assert.Equal(t, closed, refusal("v1/pods", "default"), "held by ann")
		assert.Equal(t, closed, refusal("v1/nothing", "default"), "does not exist")
		assert.Contains(t, closed, "403")
		require.Len(t, w.connector.Stats().Resources, 1, "a refused request opens nothing")
	})
}

// If two Subscribe frames in one message have the same subscription number, the connector
// authorizes each frame separately.
func TestSubscriptionsWithOneNumberAreAuthorizedSeparately(t *testing.T) {
	rules := &book{rights: map[string][]string{"ben": {inDefault}}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		w.fill(3)
		ben, _ := w.readerAs("ben")
		s := w.subscribe(ben, wire.Subscribe{Namespace: "none"})
		w.until(ben, func() bool { return s.Status != nil })

		s.Status = nil
		wanted := wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless}
		allowed := wanted
		allowed.Namespace = "default"
		require.NoError(t, ben.Send(t.Context(), &wanted, &allowed))
		w.until(ben, func() bool { return s.Status != nil || s.Synced })
		require.NotNil(t, s.Status, "the first request used the right of the second")
		assert.Equal(t, 403, s.Status.Code)
		assert.Empty(t, s.Objects)
	})
}

func TestRevokedRightEndsOnlyItsSubscription(t *testing.T) {
	rules := &book{rights: map[string][]string{"ann": {"v1/pods"}, "ben": {"v1/pods", inDefault}}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		w.fill(3)
		ann, _ := w.readerAs("ann")
		anns := w.subscribe(ann, wire.Subscribe{})
		ben, _ := w.readerAs("ben")
		all := w.subscribe(ben, wire.Subscribe{Subscription: 1})
		one := w.subscribe(ben, wire.Subscribe{Subscription: 2, Namespace: "default"})
		w.until(ann, func() bool { return anns.Synced })
		w.until(ben, func() bool { return all.Synced && one.Synced })

		begun := time.Now()
		rules.set(func() { rules.rights["ben"] = []string{inDefault} })
		w.until(ben, func() bool { return all.Status != nil })
		assert.Equal(t, 403, all.Status.Code)
		assert.LessOrEqual(t, time.Since(begun), time.Minute)

		last := w.put("late")
		w.until(ben, func() bool { return one.ResourceVersion == last })
		w.until(ann, func() bool { return anns.ResourceVersion == last })
		assert.Nil(t, one.Status)
	})
}

func TestRevokedTokenEndsTheConnection(t *testing.T) {
	rules := &book{rights: map[string][]string{"ben": {"v1/pods"}}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		w.fill(3)
		ben, result := w.readerAs("ben")
		s := w.subscribe(ben, wire.Subscribe{})
		w.until(ben, func() bool { return s.Synced })

		rules.set(func() { rules.down = true })
		last := w.put("while the policy cannot decide")
		w.until(ben, func() bool { return s.ResourceVersion == last })
		asked := rules.requestCount()
		time.Sleep(2 * time.Minute) // virtual time
		assert.Greater(t, rules.requestCount(), asked)
		require.NoError(t, ben.Send(t.Context(), &wire.RequestProgress{Subscription: 1}))

		rules.set(func() { rules.down = false; delete(rules.rights, "ben") })
		w.until(ben, func() bool { return ben.Status != nil })
		assert.Equal(t, 401, ben.Status.Code)
		assert.ErrorIs(t, result(), api.Unauthorized(""))
	})
}

func TestUndecidedAccessKeepsGrantedRights(t *testing.T) {
	rules := &book{rights: map[string][]string{"ben": {"v1/pods"}}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		ben, _ := w.readerAs("ben")
		rules.set(func() { rules.down = true })
		s := w.subscribe(ben, wire.Subscribe{})
		w.until(ben, func() bool { return s.Status != nil })
		assert.Equal(t, 503, s.Status.Code, "data without a grant is not sent")

		r, result := w.readerAs("ben")
		require.NotNil(t, r.Status)
		assert.Equal(t, 503, r.Status.Code)
		assert.Error(t, result())
	})
}

// A refused token does not count as a malformed message. Config.Observer records the
// refusal.
func TestARefusedTokenIsNotCountedAsMalformed(t *testing.T) {
	run(t, connector.Config{Access: &book{}}, func(t *testing.T, w *world) {
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), "unknown"))
		require.ErrorIs(t, result(), api.Unauthorized(""))
		assert.Zero(t, w.connector.Stats().Totals.Malformed)
		r, _, result = w.connect()
		require.NoError(t, r.Send(t.Context(), &wire.Hello{Version: wire.Version + 1}))
		w.untilEnd(r)
		require.ErrorIs(t, result(), api.Protocol(""))
		assert.EqualValues(t, 1, w.connector.Stats().Totals.Malformed)
	})
}

func TestLongTokenIsRefusedWithoutReview(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxTokenBytes, 1000)
	rules := &book{rights: map[string][]string{strings.Repeat("x", 1000): {}}}
	run(t, connector.Config{Access: rules, Limits: limits}, func(t *testing.T, w *world) {
		r, _ := w.readerAs(strings.Repeat("x", 1000))
		assert.Nil(t, r.Status)
		r, result := w.readerAs(strings.Repeat("x", 1001))
		require.NotNil(t, r.Status)
		assert.Equal(t, "max-token-bytes", r.Status.Cause)
		assert.Error(t, result())
		assert.Equal(t, 1, rules.requestCount())
		assert.EqualValues(t, 1, limits.Refusals(limit.MaxTokenBytes))
	})
}

// regrouped is a policy that permits only members of a group to read. A test changes
// whether the user is a member.
type regrouped struct{ member atomic.Bool }

func (p *regrouped) Authenticate(context.Context, string) (*access.User, *api.Status) {
	user := &access.User{Name: "ann"}
	if p.member.Load() {
		user.Groups = []string{"readers"}
	}
	return user, nil
}

func (p *regrouped) Authorize(_ context.Context, user *access.User, _ access.Request) (time.Time, *api.Status) {
	if !slices.Contains(user.Groups, "readers") {
		return time.Time{}, api.Forbidden("not a reader")
	}
	return time.Time{}, nil
}

func TestNewSubscriptionsUseTheGroupsOfTheLastReview(t *testing.T) {
	policy := &regrouped{}
	policy.member.Store(true)
	run(t, connector.Config{Access: policy}, func(t *testing.T, w *world) {
		w.fill(1)
		ann, _ := w.readerAs("t")
		first := w.subscribe(ann, wire.Subscribe{Subscription: 1})
		w.until(ann, func() bool { return first.Synced })
		policy.member.Store(false)
		w.until(ann, func() bool { return first.Status != nil })
		second := w.subscribe(ann, wire.Subscribe{Subscription: 2})
		w.until(ann, func() bool { return second.Status != nil || second.Synced })
		require.NotNil(t, second.Status)
		assert.Equal(t, 403, second.Status.Code)
	})
}

func TestRemovedTokenDisconnectsItsReaderImmediately(t *testing.T) {
	tokens := &access.Tokens{}
	runBoth(t, connector.Config{Access: tokens}, func(t *testing.T, w *world) {
		defer tokens.Set(nil) // ends the contexts of tokens inside their synctest bubble
		tokens.Set([]string{"old", "new"})
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), "old"))
		other, _, _ := w.connect()
		require.NoError(t, other.Hello(t.Context(), "new"))
		time.Sleep(10 * time.Minute) // reviews during this sleep accept both tokens
		begun := time.Now()
		tokens.Set([]string{"new"})
		require.ErrorIs(t, r.UntilEnd(t.Context()), io.EOF)
		require.NotNil(t, r.Status)
		assert.Equal(t, 401, r.Status.Code)
		assert.ErrorIs(t, result(), api.Unauthorized(""))
		assert.LessOrEqual(t, time.Since(begun), time.Second, "of virtual time")
		assert.Equal(t, 1, w.connector.Stats().Readers)
		assert.Nil(t, other.Status)
	})
}
