package kubeapi_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
)

const (
	accessReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	rulesReviews  = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
	identities    = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
)

// post sends a body and returns the response.
func (w *world) post(path, mediaType string, body io.Reader) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://cluster"+path, body)
	require.NoError(w.t, err)
	r.Header = w.header.Clone()
	r.Header.Set("Content-Type", mediaType)
	response, err := w.client.Do(r)
	require.NoError(w.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return answer{response, string(text)}
}

func (w *world) review(path, body string) answer {
	w.t.Helper()
	return w.post(path, "application/json", strings.NewReader(body))
}

// mayI sends a SelfSubjectAccessReview and returns the decision and its reason.
func (w *world) mayI(attributes string) (allowed bool, reason string) {
	w.t.Helper()
	a := w.review(accessReviews, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{`+attributes+`}}`)
	require.Equal(w.t, http.StatusCreated, a.StatusCode, a.text)
	document := decode(w.t, a.text)
	assert.Equal(w.t, "SelfSubjectAccessReview", document["kind"])
	assert.JSONEq(w.t, "{"+attributes+"}", string(encode(w.t, document["spec"])), "the spec is returned")
	status := document["status"].(map[string]any)
	reason, _ = status["reason"].(string)
	return status["allowed"].(bool), reason
}

func TestSelfSubjectAccessReviewAnswersForTheUserOfTheToken(t *testing.T) {
	rules := &book{rights: map[string][]string{"ann": {"*"}, "ben": {"list v1/pods in namespace a", "get v1/pods x in namespace a"}}}
	run(t, kubeapi.Config{Access: rules}, func(t *testing.T, w *world) {
		for _, c := range []struct {
			attributes string
			ann, ben   bool
			reason     string // of ben
		}{
			{`"resourceAttributes":{"verb":"list","resource":"pods","namespace":"a"}`, true, true, ""},
			{`"resourceAttributes":{"verb":"list","version":"v1","resource":"pods","namespace":"a"}`, true, true, ""},
			{`"resourceAttributes":{"verb":"list","version":"*","resource":"pods","namespace":"b"}`, true, false, "ben may not list v1/pods in namespace b"},
			{`"resourceAttributes":{"verb":"list","resource":"pods"}`, true, false, "ben may not list v1/pods"},
			{`"resourceAttributes":{"verb":"get","resource":"pods","namespace":"a","name":"x"}`, true, true, ""},
			{`"resourceAttributes":{"verb":"watch","resource":"pods","namespace":"a"}`, true, false, "ben may not watch v1/pods in namespace a"},
			{`"resourceAttributes":{"verb":"list","group":"apps","resource":"deployments"}`, true, false, "ben may not list apps/v1/deployments"},
			{`"resourceAttributes":{"verb":"create","resource":"pods","namespace":"a"}`, false, false, "this server is a read-only cache: it serves get, list and watch, and reviews of the user's own rights"},
			{`"resourceAttributes":{"verb":"*","resource":"*","group":"*"}`, false, false, "this server is a read-only cache: it serves get, list and watch, and reviews of the user's own rights"},
			{`"resourceAttributes":{"verb":"get","resource":"pods","subresource":"log","namespace":"a"}`, false, false, "this server is a read-only cache: it does not serve subresources"},
			{`"resourceAttributes":{"verb":"create","group":"authorization.k8s.io","resource":"selfsubjectrulesreviews"}`, true, true, "every authenticated user may review its own rights"},
			{`"nonResourceAttributes":{"verb":"get","path":"/version"}`, true, true, ""},
			{`"nonResourceAttributes":{"verb":"get","path":"/apis/apps/v1"}`, true, true, ""},
			{`"nonResourceAttributes":{"verb":"get","path":"/metrics"}`, false, false, "this server does not serve the path"},
			{`"nonResourceAttributes":{"verb":"get","path":"/api/v1/pods"}`, false, false, "this server does not serve the path"},
			{`"nonResourceAttributes":{"verb":"post","path":"/version"}`, false, false, "this server is a read-only cache: it serves only get"},
		} {
			w.header.Set("Authorization", "Bearer ann")
			allowed, _ := w.mayI(c.attributes)
			assert.Equal(t, c.ann, allowed, c.attributes)
			w.header.Set("Authorization", "Bearer ben")
			allowed, reason := w.mayI(c.attributes)
			assert.Equal(t, c.ben, allowed, c.attributes)
			assert.Equal(t, c.reason, reason, c.attributes)
		}
		w.header.Set("Authorization", "Bearer stranger")
		requireStatus(t, w.review(accessReviews, `{}`), 401, "Unauthorized")
	})
}

// unavailable is a policy whose reviews fail.
type unavailable struct{ access.Policy }

func (unavailable) Authorize(context.Context, *access.User, access.Request) (time.Time, *api.Status) {
	return time.Time{}, api.Unavailable("the cluster does not respond")
}

func TestSelfSubjectAccessReviewFailsIfThePolicyCannotDecide(t *testing.T) {
	run(t, kubeapi.Config{Access: unavailable{access.Everyone()}}, func(t *testing.T, w *world) {
		requireStatus(t, w.review(accessReviews, `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`), 503, "ServiceUnavailable")
	})
}

// ruled is a policy that returns the given rules and records each call to Rules in "asked".
type ruled struct {
	access.Policy
	rules access.Rules
	asked []string
}

func (r *ruled) Rules(_ context.Context, token string, user *access.User, namespace string) (*access.Rules, *api.Status) {
	r.asked = append(r.asked, token+" "+user.Name+" "+namespace)
	return &r.rules, nil
}

func TestSelfSubjectRulesReviewListsWhatThisServerServes(t *testing.T) {
	policy := &ruled{Policy: &book{rights: map[string][]string{"ann": {}}}, rules: access.Rules{
		Resources: []access.ResourceRule{
			{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}},
			{Verbs: []string{"delete", "watch", "list"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{"web"}},
			{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
			{Verbs: []string{"get"}, APIGroups: []string{"*"}, Resources: []string{"*/scale"}},
		},
		NonResources: []access.NonResourceRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"/metrics"}}},
		Incomplete:   true, EvaluationError: "a webhook does not list rules",
	}}
	run(t, kubeapi.Config{Access: policy}, func(t *testing.T, w *world) {
		w.header.Set("Authorization", "Bearer ann")
		a := w.review(rulesReviews, `{"spec":{"namespace":"a"}}`)
		require.Equal(t, http.StatusCreated, a.StatusCode, a.text)
		assert.JSONEq(t, `{"resourceRules":[
			{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["pods"]},
			{"verbs":["watch","list"],"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["web"]},
			{"verbs":["create"],"apiGroups":["authentication.k8s.io"],"resources":["selfsubjectreviews"]},
			{"verbs":["create"],"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews"]},
			{"verbs":["create"],"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectrulesreviews"]}],
			"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/api","/api/*","/apis","/apis/*","/healthz","/livez","/readyz","/version","/version/"]}],
			"incomplete":true,"evaluationError":"a webhook does not list rules"}`, string(encode(t, decode(t, a.text)["status"])))
		assert.Equal(t, []string{"ann ann a"}, policy.asked)
		assert.Len(t, policy.rules.Resources[0].Resources, 2, "the policy's rules are not changed")
		requireStatus(t, w.review(rulesReviews, `{"spec":{}}`), 400, "BadRequest")
	})
}

func TestSelfSubjectRulesReviewIsIncompleteIfThePolicyCannotList(t *testing.T) {
	run(t, kubeapi.Config{Access: &book{rights: map[string][]string{"ann": {}}}}, func(t *testing.T, w *world) {
		w.header.Set("Authorization", "Bearer ann")
		status := decode(t, w.review(rulesReviews, `{"spec":{"namespace":"a"}}`).text)["status"].(map[string]any)
		assert.Equal(t, true, status["incomplete"])
		assert.Contains(t, status["evaluationError"], "SelfSubjectAccessReview")
	})
}

func TestSelfSubjectRulesReviewOfPoliciesWithoutACluster(t *testing.T) {
	everything := map[string]any{"verbs": []any{"get", "list", "watch"}, "apiGroups": []any{"*"}, "resources": []any{"*"}}
	for name, c := range map[string]struct {
		policy access.Policy
		rule   map[string]any
	}{
		"everyone": {access.Everyone(), everything},
		"tokens":   {access.Token("good"), everything},
		"only":     {access.Only(pods), map[string]any{"verbs": []any{"get", "list", "watch"}, "apiGroups": []any{""}, "resources": []any{"pods"}}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, kubeapi.Config{Access: c.policy}, func(t *testing.T, w *world) {
				w.header.Set("Authorization", "Bearer good")
				status := decode(t, w.review(rulesReviews, `{"spec":{"namespace":"a"}}`).text)["status"].(map[string]any)
				assert.Equal(t, false, status["incomplete"])
				assert.Equal(t, c.rule, status["resourceRules"].([]any)[0])
			})
		})
	}
}

// named is a policy that authenticates every token as one user with a UID, groups and extra
// attributes.
type named struct{ access.Policy }

func (named) Authenticate(context.Context, string) (*access.User, *api.Status) {
	return &access.User{Name: "ann", UID: "7", Groups: []string{"devs"}, Extra: map[string][]string{"scopes": {"a", "b"}}}, nil
}

func TestSelfSubjectReviewNamesTheUser(t *testing.T) {
	run(t, kubeapi.Config{Access: named{access.Everyone()}}, func(t *testing.T, w *world) {
		a := w.review(identities, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`)
		require.Equal(t, http.StatusCreated, a.StatusCode, a.text)
		assert.JSONEq(t, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{},
			"status":{"userInfo":{"username":"ann","uid":"7","groups":["devs"],"extra":{"scopes":["a","b"]}}}}`, a.text)
	})
}

func TestMalformedReviewsAreRefused(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxReviewBytes, 300)
	run(t, kubeapi.Config{Limits: limits}, func(t *testing.T, w *world) {
		for body, code := range map[string]int{
			`{`: 400, `[]`: 400, `{"kind":"Pod","apiVersion":"v1"}`: 400, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`: 400,
			`{"spec":{}}`: 422, `{"spec":{"resourceAttributes":{},"nonResourceAttributes":{}}}`: 422,
		} {
			a := w.review(accessReviews, body)
			assert.Equal(t, code, a.StatusCode, "%s: %s", body, a.text)
		}
		status := requireStatus(t, w.review(accessReviews, `{"spec":{"resourceAttributes":{"name":"`+strings.Repeat("x", 300)+`"}}}`), 413, "RequestEntityTooLarge")
		assert.Contains(t, status["message"], "max-review-bytes")
		assert.EqualValues(t, 1, limits.Refusals(limit.MaxReviewBytes))
		requireStatus(t, w.post(accessReviews, "application/yaml", strings.NewReader("spec: {}")), 415, "UnsupportedMediaType")
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			a := w.do(method, accessReviews)
			requireStatus(t, a, 405, "MethodNotAllowed")
			assert.Equal(t, "POST, OPTIONS", a.Header.Get("Allow"))
		}
		requireStatus(t, w.review("/api/v1/namespaces/a/pods", `{}`), 405, "MethodNotAllowed")
		requireStatus(t, w.review("/apis/authorization.k8s.io/v1/subjectaccessreviews", `{}`), 405, "MethodNotAllowed")
	})
}

// A client that does not send the body of its review loses its seat after a time limit.
func TestBodyOfAReviewHasToArriveInTime(t *testing.T) {
	limits := limit.NewSet()
	run(t, kubeapi.Config{Limits: limits}, func(t *testing.T, w *world) {
		here, there := io.Pipe()
		defer there.Close()
		begun := time.Now()
		answered := make(chan answer, 1)
		go func() { answered <- w.post(accessReviews, "application/json", here) }()
		a := <-answered
		requireStatus(t, a, 408, "Timeout")
		assert.Equal(t, limits.Duration(limit.HeaderTimeout), time.Since(begun))
	})
}

// message encodes a protobuf message of length-delimited fields, numbered from 1.
// Empty fields are omitted.
func message(fields ...string) string {
	var b []byte
	for i, f := range fields {
		if f != "" {
			b = protowire.AppendTag(b, protowire.Number(i+1), protowire.BytesType)
			b = protowire.AppendString(b, f)
		}
	}
	return string(b)
}

// protobuf encodes a review as client-go does.
func protobuf(apiVersion, kind, spec string) string {
	return "k8s\x00" + message(message(apiVersion, kind), message(message("", "", "", "", ""), spec), "", "")
}

const protobufType = "application/vnd.kubernetes.protobuf"

func TestReviewsAreReadAsProtobuf(t *testing.T) {
	const authorization = "authorization.k8s.io/v1"
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.header.Set("Accept", protobufType+",application/json")
		a := w.post(accessReviews, protobufType, strings.NewReader(protobuf(authorization, "SelfSubjectAccessReview",
			message(message("a", "get", "apps", "v1", "deployments", "scale", "web")))))
		require.Equal(t, http.StatusCreated, a.StatusCode, a.text)
		assert.JSONEq(t, `{"resourceAttributes":{"namespace":"a","verb":"get","group":"apps","version":"v1","resource":"deployments","subresource":"scale","name":"web"}}`,
			string(encode(t, decode(t, a.text)["spec"])))
		a = w.post(accessReviews, protobufType, strings.NewReader(protobuf(authorization, "SelfSubjectAccessReview", message("", message("/api", "get")))))
		assert.JSONEq(t, `{"nonResourceAttributes":{"path":"/api","verb":"get"}}`, string(encode(t, decode(t, a.text)["spec"])))
		a = w.post(rulesReviews, protobufType, strings.NewReader(protobuf(authorization, "SelfSubjectRulesReview", message("a"))))
		assert.JSONEq(t, `{"namespace":"a"}`, string(encode(t, decode(t, a.text)["spec"])))
		a = w.post(identities, protobufType, strings.NewReader(protobuf("authentication.k8s.io/v1", "SelfSubjectReview", "")))
		assert.Equal(t, http.StatusCreated, a.StatusCode, a.text)
		for _, body := range []string{"", "k8s", "k8s\x00\xff", "k8s\x00\x12\xff", "k8s\x00" + message(message("a", "b")), "{}", "k8s\x00\x12\x02\x12\x7f"} {
			requireStatus(t, w.post(accessReviews, protobufType, strings.NewReader(body)), 400, "BadRequest")
		}
	})
}

// observed is an observer that records the requests passed to Authorized.
type observed struct{ requests []string }

func (*observed) Authenticated(context.Context, *access.User, *api.Status) {}
func (o *observed) Authorized(_ context.Context, user *access.User, r access.Request, refused *api.Status) {
	o.requests = append(o.requests, user.Name+" "+r.String())
}

// The observer, such as the audit log, receives the creation of a review, not the reviewed
// request, because no object is read.
func TestReviewsAreObservedAsReviews(t *testing.T) {
	observer := &observed{}
	run(t, kubeapi.Config{Observer: observer}, func(t *testing.T, w *world) {
		w.mayI(`"resourceAttributes":{"verb":"get","resource":"secrets","namespace":"a"}`)
		assert.Equal(t, []string{"system:anonymous create authorization.k8s.io/v1/selfsubjectaccessreviews"}, observer.requests)
	})
}
