package kube_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/source/kube"
)

// listingRules makes the fake serve SelfSubjectRulesReviews. It returns a counter of
// these reviews. The namespace "long" has a thousand rules.
func listingRules(t *testing.T, f *fake) *atomic.Int32 {
	var asked atomic.Int32
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews" {
			return false
		}
		asked.Add(1)
		assert.Empty(t, r.Header.Get("Impersonate-User"), "the credentials of the connector are not sent")
		if r.Header.Get("Authorization") != "Bearer t-ann" {
			status(w, 401, "Unauthorized", "Unauthorized")
			return true
		}
		review, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		rules := `{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}`
		if strings.Contains(string(review), `"namespace":"long"`) {
			rules += strings.Repeat(`,{"verbs":["get"],"apiGroups":[""],"resources":["configmaps"],"resourceNames":["settings"]}`, 999)
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"status":{"resourceRules":[%s],"nonResourceRules":[],"incomplete":false}}`, rules)
		return true
	})
	return &asked
}

// A SelfSubjectRulesReview lists the rules of its sender. With the credentials of the
// connector it would list the connector's rules.
func TestRulesAreReviewedWithTheTokenOfTheReader(t *testing.T) {
	f := newFake(t)
	asked := listingRules(t, f)
	source, err := kube.New(kube.Config{REST: &rest.Config{Host: f.url, BearerToken: "t-connector", Impersonate: rest.ImpersonationConfig{UserName: "connector"}}})
	require.NoError(t, err)
	t.Cleanup(source.Close)
	p := source.Policy(nil)
	ann := &access.User{Name: "ann"}
	rules, refused := p.Rules(t.Context(), "t-ann", ann, "a")
	require.Nil(t, refused)
	assert.Equal(t, []access.ResourceRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}, rules.Resources)
	_, refused = p.Rules(t.Context(), "t-connector", ann, "a")
	assert.ErrorIs(t, refused, api.Unauthorized(""))
	assert.EqualValues(t, 2, asked.Load())
	rules, refused = p.Rules(t.Context(), "", ann, "a")
	require.Nil(t, refused)
	assert.True(t, rules.Incomplete, "a user without a token")
	assert.EqualValues(t, 2, asked.Load(), "the connector does not use its own credentials")
}

func TestRulesAreReviewedOnceForMany(t *testing.T) {
	f := newFake(t)
	asked := listingRules(t, f)
	p := f.source(kube.Config{}).Policy(nil)
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			_, refused := p.Rules(t.Context(), "t-ann", &access.User{Name: "ann"}, "a")
			assert.Nil(t, refused)
		})
	}
	readers.Wait()
	assert.EqualValues(t, 1, asked.Load())
	_, refused := p.Rules(t.Context(), "t-ann", &access.User{Name: "ann"}, "b")
	assert.Nil(t, refused)
	assert.EqualValues(t, 2, asked.Load(), "another namespace")
}

// Rules that are too long are not cached, because a hundred cached responses could occupy
// 100 MiB.
func TestLongRulesAreNotCached(t *testing.T) {
	f := newFake(t)
	asked := listingRules(t, f)
	p := f.source(kube.Config{}).Policy(nil)
	for range 2 {
		rules, refused := p.Rules(t.Context(), "t-ann", &access.User{Name: "ann"}, "long")
		require.Nil(t, refused)
		assert.Len(t, rules.Resources, 1000)
	}
	assert.EqualValues(t, 2, asked.Load())
}

// An attacker who chooses a token that equals the encoding of another question must not
// receive the verdict on that question.
func TestTokenDoesNotCollideWithAnotherReview(t *testing.T) {
	f := newFake(t)
	listingRules(t, f)
	p := f.source(kube.Config{}).Policy(nil)
	_, refused := p.Rules(t.Context(), "t-ann", &access.User{Name: "ann"}, "a")
	require.Nil(t, refused)
	block := make(chan struct{})
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		<-block
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"status":{"authenticated":false}}`)
		return true
	})
	var both sync.WaitGroup
	both.Go(func() { p.Rules(t.Context(), "t-ben", &access.User{Name: "ben"}, "a") })
	both.Go(func() {
		_, refused := p.Authenticate(t.Context(), `["t-ben","a"]`)
		assert.ErrorIs(t, refused, api.Unauthorized(""))
	})
	require.Eventually(t, func() bool { return f.seen("reviews") == 3 }, time.Minute, time.Millisecond, "each request has its own review")
	close(block)
	both.Wait()
}

func TestRevokedRightIsDeniedInReviewsWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reviewer{}
		p := r.policy(t, nil)
		ann, status := p.Authenticate(t.Context(), "t-ann")
		require.Nil(t, status)
		request := access.Request{Resource: pods, Verb: "list"}
		_, status = p.Authorize(t.Context(), ann, request)
		require.Nil(t, status)
		r.set(func() { r.badRights = true })
		begun := time.Now()
		for status == nil {
			time.Sleep(time.Second)
			_, status = p.Authorize(t.Context(), ann, request)
		}
		assert.ErrorIs(t, status, api.Forbidden(""))
		assert.LessOrEqual(t, time.Since(begun), revocationBound)
	})
}
