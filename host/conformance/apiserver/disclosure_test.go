package apiserver

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/kubeapi/kubeapitest"
)

// plantSentinels writes ConfigMaps with sentinels to two namespaces, through the server.
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

// If RBAC lets a user read one namespace only, the user receives no byte of an object in
// another namespace (rule B25). The test covers the WebSocket endpoint, the Kubernetes API and the
// other endpoints of the binary.
func TestRBACDisclosesNothingOfOtherNamespaces(t *testing.T) {
	shared.clear(t)
	grant(t, "ben", "b", "configmaps")
	var planted sentinel.Set
	plantSentinels(t, &planted)
	mayRead := func(name string) bool { return strings.HasPrefix(name, "b/") }
	urls := startBinary(t, 2, "serve", "--kubeconfig", shared.kubeconfig(t, admin), "--auth", "kube",
		"--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--log-level", "error")
	kubernetes, page := urls[0], urls[1]
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	do := func(url, method, path string, header http.Header) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, nil)
		require.NoError(t, err)
		header.Set("Authorization", "Bearer "+ben)
		request.Header = header
		response, err := client.Do(request)
		require.NoError(t, err)
		return response
	}

	(&connectortest.Probe{
		T: t, Token: ben, Resource: "v1/configmaps", Mine: "b", Foreign: "a", Known: "known", Planted: &planted, MayRead: mayRead,
		Dial: func() connectortest.Conn {
			conn, err := connectortest.Dial(t.Context(), "ws"+strings.TrimPrefix(page, "http")+"/watch")
			require.NoError(t, err)
			return conn
		},
	}).Run()
	(&kubeapitest.Probe{
		T: t, Resource: "/api/v1/configmaps", Mine: "b", Foreign: "a", Known: "known", Planted: &planted, MayRead: mayRead,
		Do: func(method, path string, header http.Header) *http.Response {
			return do(kubernetes, method, path, header)
		},
	}).Run()
	for _, path := range []string{"/metrics", "/readyz", "/readyz?verbose", "/healthz", "/", "/inspect", "/watch", "/api/v1/namespaces/a/configmaps"} {
		response := do(page, http.MethodGet, path, http.Header{"Accept": {"application/json"}})
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Empty(t, planted.Find(body), path)
		assert.Empty(t, planted.Find(fmt.Append(nil, response.Header)), path)
	}
}
