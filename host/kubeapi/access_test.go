package kubeapi_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// book is a policy that lists the permitted requests of each token. The name of a user is
// also the user's token, and "*" permits all requests.
type book struct {
	mu     sync.Mutex
	rights map[string][]string
	// expires is the time at which all tokens expire. Zero means never.
	expires time.Time
}

func (b *book) Authenticate(_ context.Context, token string) (*access.User, *api.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.rights[token]; !ok {
		return nil, api.Unauthorized("the token is not known")
	}
	if !b.expires.IsZero() && !b.expires.After(time.Now()) {
		return nil, api.Unauthorized("the token has expired")
	}
	return &access.User{Name: token, Expires: b.expires}, nil
}

func (b *book) Authorize(_ context.Context, user *access.User, r access.Request) (time.Time, *api.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.rights[user.Name], r.String()) && !slices.Contains(b.rights[user.Name], "*") {
		return time.Time{}, api.Forbidden(user.Name + " may not " + r.String())
	}
	return time.Time{}, nil
}

func (b *book) set(user string, rights ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rights[user] = rights
}

func TestTokensAreChecked(t *testing.T) {
	rules := &book{rights: map[string][]string{"good": {"*"}, "other": {}}}
	run(t, kubeapi.Config{Access: rules}, func(t *testing.T, w *world) {
		for header, code := range map[string]int{"": 401, "Bearer bad": 401, "Basic good": 401, "Bearer other": 403, "Bearer good": 200, "bearer  good": 200} {
			w.header.Set("Authorization", header)
			for _, path := range []string{"/api", "/version", "/api/v1/pods", "/api/v1/pods?watch=1&timeoutSeconds=1"} {
				want := code
				if code == 403 && (path == "/api" || path == "/version") {
					want = 200 // every authenticated user may read discovery
				}
				a := w.get(path)
				assert.Equal(t, want, a.StatusCode, header)
				if code == 401 {
					requireStatus(t, a, 401, "Unauthorized")
					assert.Equal(t, "Bearer", a.Header.Get("WWW-Authenticate"))
				}
			}
			if code == 401 {
				requireStatus(t, w.do("DELETE", "/api/v1/pods"), 401, "Unauthorized")
			}
		}
	})
}

func TestRequestsAreWeighedOneByOne(t *testing.T) {
	rules := &book{rights: map[string][]string{"ben": {"list v1/pods in namespace a", "get v1/pods x in namespace a", "watch v1/pods one in namespace a"}}}
	run(t, kubeapi.Config{Access: rules}, func(t *testing.T, w *world) {
		w.put("a/x", "web")
		w.header.Set("Authorization", "Bearer ben")
		for path, code := range map[string]int{
			"/api/v1/namespaces/a/pods":                         200,
			"/api/v1/pods?fieldSelector=metadata.namespace%3Da": 403, // as in kube-apiserver
			"/api/v1/pods":                                           403,
			"/api/v1/namespaces/b/pods":                              403,
			"/api/v1/namespaces/a/pods/x":                            200,
			"/api/v1/namespaces/a/pods/y":                            403,
			"/api/v1/namespaces/a/pods?watch=1&timeoutSeconds=1":     403,
			"/api/v1/namespaces/a/pods/one?watch=1&timeoutSeconds=1": 200,
			"/api/v1/namespaces/a/secrets":                           403,
			"/api/v1/namespaces/a/unicorns":                          403,
		} {
			a := w.get(path)
			assert.Equal(t, code, a.StatusCode, path)
			if code == 403 {
				requireStatus(t, a, 403, "Forbidden")
			}
		}
		status := requireStatus(t, w.get("/apis/apps/v1/namespaces/b/deployments/web"), 403, "Forbidden")
		assert.Equal(t, map[string]any{"name": "web", "group": "apps", "kind": "deployments"}, status["details"])
	})
}

// A user may read one of three objects that have the same name but different resources.
// Requests for the other two objects are forbidden, even after another user has read these
// objects.
func TestANameGrantsNoOtherResource(t *testing.T) {
	rules := &book{rights: map[string][]string{"root": {"*"}, "ben": {"get v1/configmaps nginx in namespace a"}}}
	run(t, kubeapi.Config{Access: rules}, func(t *testing.T, w *world) {
		paths := map[string]string{}
		for _, resource := range []string{"configmaps", "secrets", "pods"} {
			kind := map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "pods": "Pod"}[resource]
			w.source.Put(api.Resource{Version: "v1", Name: resource}, "a/nginx", fmt.Appendf(nil,
				`{"kind":%q,"apiVersion":"v1","metadata":{"name":"nginx","namespace":"a","uid":"u-%s","annotations":{"of":"the %[1]s"}}}`, kind, resource))
			paths[kind] = "/api/v1/namespaces/a/" + resource + "/nginx"
		}
		for _, token := range []string{"root", "ben", "root", "ben"} {
			w.header.Set("Authorization", "Bearer "+token)
			for kind, path := range paths {
				a := w.get(path)
				if token == "ben" && kind != "ConfigMap" {
					requireStatus(t, a, 403, "Forbidden")
					assert.NotContains(t, a.text, "of the")
					continue
				}
				assert.Equal(t, 200, a.StatusCode, path)
				assert.Contains(t, a.text, `"the `+kind+`"`)
			}
		}
	})
}

func TestAWatchEndsWithTheRightToIt(t *testing.T) {
	rules := &book{rights: map[string][]string{"ben": {"watch v1/pods"}}}
	run(t, kubeapi.Config{Access: rules}, func(t *testing.T, w *world) {
		w.header.Set("Authorization", "Bearer ben")
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		w.put("a/x", "web")
		assert.Equal(t, "ADDED x 2", watch.formatNext())
		time.Sleep(90 * time.Second) // virtual time
		w.put("a/y", "web")
		assert.Equal(t, "ADDED y 3", watch.formatNext())
		rules.set("ben")
		begun := time.Now()
		assert.Equal(t, "ERROR 403 Forbidden", watch.formatNext())
		assert.LessOrEqual(t, time.Since(begun), time.Minute)
		watch.ends()
	})
}

func TestAWatchEndsWhenItsTokenExpires(t *testing.T) {
	rules := &book{rights: map[string][]string{"ben": {"watch v1/pods"}}}
	run(t, kubeapi.Config{Access: rules}, func(t *testing.T, w *world) {
		rules.expires = time.Now().Add(100 * time.Second) // virtual time
		w.header.Set("Authorization", "Bearer ben")
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		w.put("a/x", "web")
		assert.Equal(t, "ADDED x 2", watch.formatNext())
		assert.Equal(t, "ERROR 401 Unauthorized", watch.formatNext())
		assert.Zero(t, time.Since(rules.expires))
		watch.ends()
	})
}

func TestRemovedTokenEndsItsWatchesImmediately(t *testing.T) {
	tokens := &access.Tokens{}
	run(t, kubeapi.Config{Access: tokens}, func(t *testing.T, w *world) {
		tokens.Set([]string{"old", "new"})
		w.header.Set("Authorization", "Bearer new")
		stays := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		w.header.Set("Authorization", "Bearer old")
		ends := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		w.put("a/x", "web")
		assert.Equal(t, "ADDED x 2", stays.formatNext())
		assert.Equal(t, "ADDED x 2", ends.formatNext())
		begun := time.Now()
		tokens.Set([]string{"new"})
		assert.Equal(t, "ERROR 401 Unauthorized", ends.formatNext())
		assert.Zero(t, time.Since(begun), "of virtual time")
		ends.ends()
		w.put("a/y", "web")
		assert.Equal(t, "ADDED y 3", stays.formatNext())
		stays.close()
	})
}

// wavering is a policy that first accepts a token, then returns errors, and finally rejects
// the token.
type wavering struct {
	access.Policy
	valid  context.Context
	asked  atomic.Int32
	decide int32 // the call number at which Authenticate rejects the token
}

func (u *wavering) Authenticate(context.Context, string) (*access.User, *api.Status) {
	switch asked := u.asked.Add(1); {
	case asked == 1:
		return &access.User{Name: "ben", Valid: u.valid}, nil
	case asked < u.decide:
		return nil, api.Unavailable("the review failed")
	}
	return nil, api.Unauthorized("the token is withdrawn")
}

func TestRevokedTokenIsReviewedUntilThereIsADecision(t *testing.T) {
	policy := &wavering{Policy: access.Everyone(), decide: 4}
	run(t, kubeapi.Config{Access: policy}, func(t *testing.T, w *world) {
		var withdraw context.CancelFunc
		policy.valid, withdraw = context.WithCancel(context.Background())
		w.header.Set("Authorization", "Bearer ben")
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		w.put("a/x", "web")
		assert.Equal(t, "ADDED x 2", watch.formatNext())
		begun := time.Now()
		withdraw()
		assert.Equal(t, "ERROR 401 Unauthorized", watch.formatNext())
		assert.Equal(t, 2*access.ReviewRetry, time.Since(begun))
		assert.EqualValues(t, 4, policy.asked.Load())
		watch.ends()
	})
}
