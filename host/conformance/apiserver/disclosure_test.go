package apiserver

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/kubeapi/kubeapitest"
	pages "github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/kube"
)

// plantSentinels writes config maps to two namespaces, through the server.
func plantSentinels(t *testing.T, planted *sentinel.Set) {
	for _, namespace := range []string{"a", "b"} {
		for i := range 12 {
			own := planted.Plant(fmt.Sprintf("%s/%d", namespace, i))
			name := "cm-" + own
			if i == 0 {
				name = "known"
			}
			_, err := shared.put(configMaps, api.NewKey(namespace, name), fmt.Appendf(nil,
				`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"labels":{"app":"web","own":%q},"annotations":{"own":%q}},"data":{%q:%q}}`,
				name, namespace, own, own, own, own))
			require.NoError(t, err)
		}
	}
}

// A user whose RBAC allows one namespace receives no byte of an object of another:
// over a WebSocket, from the Kubernetes API, and from the rest of the listener (rule
// B25).
func TestRBACDisclosesNothingOfOtherNamespaces(t *testing.T) {
	shared.clear(t)
	policy := newSource(t, admin, kube.Config{}).Policy(nil)
	w := newWorld(t, newSource(t, admin, kube.Config{}), policy)
	grant(t, "ben", "a", "configmaps")
	var planted sentinel.Set
	plantSentinels(t, &planted)
	mayRead := func(name string) bool { return strings.HasPrefix(name, "a/") }

	handler := kubeapi.New(kubeapi.Config{Backend: w.connector.Backend(), Access: policy})
	page, err := pages.New(pages.Config{Connector: w.connector, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	listeners := map[string]*httptest.Server{"Kubernetes API": httptest.NewServer(handler), "page": httptest.NewServer(page)}
	t.Cleanup(func() {
		handler.Stop()
		for _, l := range listeners {
			l.Close()
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	do := func(listener, method, path string, header http.Header) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), method, listeners[listener].URL+path, nil)
		require.NoError(t, err)
		header.Set("Authorization", "Bearer "+ben)
		request.Header = header
		response, err := client.Do(request)
		require.NoError(t, err)
		return response
	}

	(&connectortest.Probe{
		T: t, Token: ben, Resource: "v1/configmaps", Mine: "a", Foreign: "b", Known: "known", Planted: &planted, MayRead: mayRead,
		Dial: func() connectortest.Conn {
			served, end := connectortest.Pipe()
			w.serving.Go(func() { w.connector.Serve(t.Context(), served) })
			return end
		},
	}).Run()
	(&kubeapitest.Probe{
		T: t, Resource: "/api/v1/configmaps", Mine: "a", Foreign: "b", Known: "known", Planted: &planted, MayRead: mayRead,
		Do: func(method, path string, header http.Header) *http.Response {
			return do("Kubernetes API", method, path, header)
		},
	}).Run()
	for _, path := range []string{"/metrics", "/readyz", "/readyz?verbose", "/healthz", "/", "/inspect", "/watch", "/api/v1/namespaces/b/configmaps"} {
		response := do("page", http.MethodGet, path, http.Header{"Accept": {"application/json"}})
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Empty(t, planted.Find(body), path)
		assert.Empty(t, planted.Find(fmt.Append(nil, response.Header)), path)
	}
}
