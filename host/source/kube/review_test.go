package kube_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/source/kube"
)

// reviewing makes the fake serve reviews, and returns a counter of the requests. The token
// "t-NAME" belongs to NAME, and the function allowed decides whether a user has a right.
// For a right to a path, allowed receives the path as "resource".
func reviewing(t *testing.T, f *fake, allowed func(user, verb, resource, namespace, name string) bool) *atomic.Int32 {
	var asked atomic.Int32
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		var review struct {
			Spec struct {
				Token, User           string
				Groups                []string
				ResourceAttributes    struct{ Verb, Group, Resource, Namespace, Name string }
				NonResourceAttributes *struct{ Path, Verb string }
			}
		}
		if r.Method != http.MethodPost {
			return false
		}
		asked.Add(1)
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&review))
		w.WriteHeader(http.StatusCreated)
		switch a := review.Spec.ResourceAttributes; r.URL.Path {
		case "/apis/authentication.k8s.io/v1/tokenreviews":
			name, ok := strings.CutPrefix(review.Spec.Token, "t-")
			fmt.Fprintf(w, `{"status":{"authenticated":%v,"user":{"username":%q,"groups":["devs"]}}}`, ok, name)
		case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
			assert.Equal(t, []string{"devs"}, review.Spec.Groups)
			if path := review.Spec.NonResourceAttributes; path != nil {
				assert.Zero(t, a, "a review is of a resource or of a path")
				a.Verb, a.Resource = path.Verb, path.Path
			}
			fmt.Fprintf(w, `{"status":{"allowed":%v,"reason":"because"}}`,
				allowed(review.Spec.User, a.Verb, strings.TrimSuffix(a.Resource+"."+a.Group, "."), a.Namespace, a.Name))
		}
		return true
	})
	return &asked
}

func TestPolicyQueriesTheCluster(t *testing.T) {
	f := newFake(t)
	reviewing(t, f, func(user, verb, resource, namespace, name string) bool {
		return user == "ann" && resource == "/metrics" && verb == "get" || user == "ann" && resource == "crontabs.example.com" && namespace == "a" && (name == "" || verb == "list")
	})
	p := f.source(kube.Config{}).Policy(nil)
	ann, status := p.Authenticate(t.Context(), "t-ann")
	require.Nil(t, status)
	assert.Equal(t, &access.User{Name: "ann", Groups: []string{"devs"}, ReviewAt: ann.ReviewAt}, ann)
	authorize := func(r access.Request) *api.Status {
		_, status := p.Authorize(t.Context(), ann, r)
		return status
	}
	assert.Nil(t, authorize(access.Request{Resource: cronTabs, Namespace: "a"}))
	status = authorize(access.Request{Resource: cronTabs, Namespace: "a", Name: "x"})
	require.ErrorIs(t, status, api.Forbidden(""))
	assert.Equal(t, `crontabs.example.com "x" is forbidden: User "ann" cannot watch resource "crontabs" in API group "example.com" in the namespace "a": because`, status.Message)
	assert.ErrorIs(t, authorize(access.Request{Resource: cronTabs}), api.Forbidden(""))
	assert.ErrorIs(t, authorize(access.Request{Resource: pods, Namespace: "a"}), api.Forbidden(""))
	assert.Nil(t, authorize(access.Request{Verb: "get", Path: "/metrics"}))
	status = authorize(access.Request{Verb: "get", Path: "/flagz"})
	require.ErrorIs(t, status, api.Forbidden(""))
	assert.Equal(t, `forbidden: User "ann" cannot get path "/flagz": because`, status.Message)
	for _, token := range []string{"", "nonsense"} {
		_, status = p.Authenticate(t.Context(), token)
		assert.ErrorIs(t, status, api.Unauthorized(""), "%q", token)
	}
}

func TestPolicySharesOneReview(t *testing.T) {
	f := newFake(t)
	asked := reviewing(t, f, func(string, string, string, string, string) bool { return true })
	p := f.source(kube.Config{}).Policy(nil)
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			user, status := p.Authenticate(t.Context(), "t-ann")
			if assert.Nil(t, status) {
				_, status := p.Authorize(t.Context(), user, access.Request{Resource: pods})
				assert.Nil(t, status)
			}
		})
	}
	readers.Wait()
	assert.EqualValues(t, 3, asked.Load(), "the token, list and watch")
}

func TestUnresponsiveClusterMakesNoDecision(t *testing.T) {
	f := newFake(t)
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		status(w, 403, "Forbidden", `User "connector" cannot create resource tokenreviews`)
		return true
	})
	var log bytes.Buffer
	p := f.source(kube.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Policy(nil)
	_, refused := p.Authenticate(t.Context(), "t-ann")
	require.NotNil(t, refused)
	assert.Equal(t, 503, refused.Code)
	_, undecided := p.Authorize(t.Context(), &access.User{Name: "ann"}, access.Request{Resource: pods})
	for _, status := range []*api.Status{refused, undecided} {
		require.NotNil(t, status)
		assert.NotContains(t, status.Message, "connector", "the client may be anyone")
		assert.NotContains(t, status.Message, strings.TrimPrefix(f.url, "http://"))
	}
	assert.Contains(t, log.String(), "system:auth-delegator")
	assert.Contains(t, log.String(), "connector")
	assert.NotContains(t, log.String(), "t-ann")
	for range 100 {
		_, _ = p.Authenticate(t.Context(), "t-ann")
	}
	assert.Less(t, strings.Count(log.String(), "\n"), 50, "the log is limited")

	reviewing(t, f, func(string, string, string, string, string) bool { return true })
	_, refused = p.Authenticate(t.Context(), "t-ann")
	assert.Nil(t, refused, "the failure is not cached")
}
