package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/kube"
)

const (
	// patience is the maximum time that a test waits for an expected result.
	patience     = 2 * time.Minute
	pollInterval = 20 * time.Millisecond
)

// world is a connector that reads the server, with its readers.
type world struct {
	*testing.T
	connector *connector.Connector
	serving   sync.WaitGroup
}

func newWorld(t *testing.T, src *kube.Source, policy access.Policy) *world {
	w := &world{T: t, connector: connector.New(connector.Config{
		Source: src, Access: policy, ReviewInterval: time.Second, Logger: slog.New(slog.DiscardHandler),
	})}
	t.Cleanup(func() {
		assert.NoError(t, w.connector.Close(context.Background()))
		w.serving.Wait()
	})
	return w
}

func (w *world) reader(token string) *connectortest.Reader {
	served, end := connectortest.Pipe()
	w.serving.Go(func() { w.connector.Serve(w.Context(), served) })
	r := connectortest.NewReader(end)
	require.NoError(w, r.Hello(w.Context(), token))
	return r
}

var numbers uint32

func (w *world) subscribe(r *connectortest.Reader, resource, namespace, fields string) *connectortest.Subscription {
	numbers++
	s, err := r.Subscribe(w.Context(), wire.Subscribe{
		Subscription: numbers, Resource: resource, Namespace: namespace, FieldSelector: fields, Credit: connectortest.Endless,
	})
	require.NoError(w, err)
	return s
}

func (w *world) until(r *connectortest.Reader, done func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	require.NoError(w, r.Until(ctx, done))
}

func keys(s *connectortest.Subscription) []string {
	var all []string
	for k := range s.Objects {
		all = append(all, string(k))
	}
	slices.Sort(all)
	return all
}

// withVersion adds the current resource version of the object to a definition, as updates
// require.
func withVersion(t *testing.T, path, definition string) string {
	t.Helper()
	var current, next map[string]any
	require.NoError(t, json.Unmarshal(shared.must(t, http.MethodGet, path, ""), &current))
	require.NoError(t, json.Unmarshal([]byte(definition), &next))
	next["metadata"].(map[string]any)["resourceVersion"] = current["metadata"].(map[string]any)["resourceVersion"]
	b, err := json.Marshal(next)
	require.NoError(t, err)
	return string(b)
}

// listSink collects only the keys of a list.
type listSink struct{ keys []string }

var errListed = errors.New("listed")

func (l *listSink) Identify(string) error { return nil }
func (l *listSink) BeginList() error      { return nil }
func (l *listSink) Object(key api.Key, _ api.ResourceVersion, _ []byte) error {
	l.keys = append(l.keys, string(key))
	return nil
}
func (l *listSink) EndList(api.ResourceVersion) error  { return errListed }
func (l *listSink) Changes([]source.Change) error      { return nil }
func (l *listSink) Progress(api.ResourceVersion) error { return nil }
func (l *listSink) Wanted() <-chan struct{}            { return nil }

var configMaps = api.Resource{Version: "v1", Name: "configmaps"}

func (w *world) put(namespace, name string) api.ResourceVersion {
	rv, err := shared.put(configMaps, api.NewKey(namespace, name), configMap(namespace, name))
	require.NoError(w, err)
	return rv
}

// After a restart of the server, the connector resumes, and readers keep their state
// without a new snapshot.
func TestTheServerRestarts(t *testing.T) {
	shared.clear(t)
	w := newWorld(t, newSource(t, admin, kube.Config{WatchTimeout: 4 * time.Second}), nil)
	w.put("a", "x")
	r := w.reader("")
	s := w.subscribe(r, "v1/configmaps", "a", "")
	w.until(r, func() bool { return s.Synced })

	shared.Stop()
	require.NoError(t, shared.Launch())
	last := w.put("a", "y")
	w.until(r, func() bool { return s.ResourceVersion >= last })
	assert.Equal(t, []string{"a/x", "a/y"}, keys(s))
	assert.Equal(t, 1, s.Snapshots, "the state was not sent again")
}

// Each reader receives exactly the objects that RBAC allows, from one shared watch.
func TestRBAC(t *testing.T) {
	shared.clear(t)
	w := newWorld(t, newSource(t, admin, kube.Config{}), newSource(t, admin, kube.Config{}).Policy(nil))
	grant(t, "ann", "", "configmaps")
	grant(t, "ben", "a", "configmaps")
	w.put("a", "one")
	w.put("b", "two")

	readers := map[string]*connectortest.Reader{ann: w.reader(ann), ben: w.reader(ben)}
	everything := map[string]*connectortest.Subscription{}
	inA := map[string]*connectortest.Subscription{}
	for token, r := range readers {
		everything[token] = w.subscribe(r, "v1/configmaps", "", "")
		inA[token] = w.subscribe(r, "v1/configmaps", "a", "")
		secrets := w.subscribe(r, "v1/secrets", "", "")
		w.until(r, func() bool { return secrets.Status != nil && (inA[token].Synced || inA[token].Status != nil) })
		assert.Equal(t, 403, secrets.Status.Code)
	}
	assert.Equal(t, 403, everything[ben].Status.Code)
	assert.Equal(t, `configmaps is forbidden: User "ben" cannot list resource "configmaps" in API group "" at the cluster scope`, everything[ben].Status.Message)
	w.until(readers[ann], func() bool { return everything[ann].Synced })
	for _, token := range []string{ann, ben} {
		assert.Equal(t, kubectl(t, token, "a"), keys(inA[token]))
		assert.Equal(t, kubectl(t, token, ""), keys(everything[token]))
	}

	var last api.ResourceVersion
	for i := range 50 {
		last = w.put([]string{"a", "b"}[i%2], "churn-"+string(rune('a'+i%13)))
	}
	w.until(readers[ben], func() bool { return inA[ben].ResourceVersion >= last })
	w.until(readers[ann], func() bool { return everything[ann].ResourceVersion >= last })
	assert.Equal(t, kubectl(t, ben, "a"), keys(inA[ben]))
	assert.Equal(t, kubectl(t, ann, ""), keys(everything[ann]))

	shared.must(t, http.MethodDelete, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/ben", "")
	w.until(readers[ben], func() bool { return inA[ben].Status != nil })
	assert.Equal(t, 403, inA[ben].Status.Code)
	last = w.put("a", "after")
	w.until(readers[ann], func() bool { return everything[ann].ResourceVersion >= last })
	assert.Nil(t, everything[ann].Status)
	assert.NotContains(t, keys(inA[ben]), "a/after")
	assert.Empty(t, kubectl(t, ben, "a"))

	stranger := w.reader("nobody")
	require.NotNil(t, stranger.Status)
	assert.Equal(t, 401, stranger.Status.Code)
}

// grant allows a user to read a resource, in one namespace or in all namespaces, until the
// test ends.
func grant(t *testing.T, user, namespace, resource string) {
	role, binding, scope := "ClusterRole", "ClusterRoleBinding", ""
	if namespace != "" {
		role, binding, scope = "Role", "RoleBinding", "/namespaces/"+namespace
	}
	const group = "/apis/rbac.authorization.k8s.io/v1"
	t.Cleanup(func() {
		for _, kind := range []string{binding, role} { // the test may have deleted these objects
			_, _, err := shared.request(http.MethodDelete, group+scope+"/"+strings.ToLower(kind)+"s/"+user, nil)
			assert.NoError(t, err)
		}
	})
	shared.must(t, http.MethodPost, group+scope+"/"+strings.ToLower(role)+"s",
		`{"metadata":{"name":"`+user+`"},"rules":[{"apiGroups":[""],"resources":["`+resource+`"],"verbs":["get","list","watch"]}]}`)
	shared.must(t, http.MethodPost, group+scope+"/"+strings.ToLower(binding)+"s",
		`{"metadata":{"name":"`+user+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"`+role+`","name":"`+user+`"},
			"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"`+user+`"}]}`)
}
