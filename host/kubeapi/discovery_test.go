package kubeapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/kubeapi"
)

func TestDiscovery(t *testing.T) {
	run(t, kubeapi.Config{Server: "watchglass-test"}, func(t *testing.T, w *world) {
		assert.JSONEq(t, `{"kind":"APIVersions","versions":["v1"],`+
			`"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"cluster"}]}`, w.get("/api").text)

		list := decode(t, w.get("/apis").text)
		assert.Equal(t, "APIGroupList", list["kind"])
		var groups []string
		for _, g := range list["groups"].([]any) {
			groups = append(groups, g.(map[string]any)["name"].(string))
		}
		assert.Equal(t, []string{
			"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps",
			"authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch",
			"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "flowcontrol.apiserver.k8s.io",
			"networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io",
			"scheduling.k8s.io", "storage.k8s.io",
		}, groups)

		assert.JSONEq(t, `{"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],`+
			`"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}`, w.get("/apis/apps").text)
		requireStatus(t, w.get("/apis/nothing"), 404, "NotFound")

		core := decode(t, w.get("/api/v1").text)
		assert.Equal(t, "APIResourceList", core["kind"])
		assert.Equal(t, "v1", core["groupVersion"])
		assert.Contains(t, core["resources"], map[string]any{
			"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
			"verbs": []any{"get", "list", "watch"}, "shortNames": []any{"po"}, "categories": []any{"all"},
		})
		assert.Contains(t, core["resources"], map[string]any{
			"name": "nodes", "singularName": "node", "namespaced": false, "kind": "Node",
			"verbs": []any{"get", "list", "watch"}, "shortNames": []any{"no"},
		})
		assert.Contains(t, decode(t, w.get("/apis/authorization.k8s.io/v1").text)["resources"], map[string]any{
			"name": "selfsubjectaccessreviews", "singularName": "selfsubjectaccessreview", "namespaced": false,
			"kind": "SelfSubjectAccessReview", "verbs": []any{"create"},
		})
		assert.Equal(t, "apps/v1", decode(t, w.get("/apis/apps/v1").text)["groupVersion"])

		version := decode(t, w.get("/version").text)
		assert.Equal(t, "v1.37.2+watchglass-test", version["gitVersion"])
		assert.Equal(t, "1", version["major"])
	})
}

func TestAggregatedDiscovery(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		w.header.Set("Accept", aggregated+",application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json")
		a := w.get("/apis")
		assert.Equal(t, aggregated, a.Header.Get("Content-Type"))
		assert.Contains(t, a.Header.Get("Vary"), "Accept")
		list := decode(t, a.text)
		assert.Equal(t, "APIGroupDiscoveryList", list["kind"])
		assert.Equal(t, "apidiscovery.k8s.io/v2", list["apiVersion"])
		require.Len(t, list["items"], 19)

		core := decode(t, w.get("/api").text)["items"].([]any)
		require.Len(t, core, 1)
		version := core[0].(map[string]any)["versions"].([]any)[0].(map[string]any)
		assert.Equal(t, "v1", version["version"])
		assert.Equal(t, "Current", version["freshness"])
		assert.Contains(t, version["resources"], map[string]any{
			"resource": "pods", "responseKind": map[string]any{"group": "", "version": "v1", "kind": "Pod"}, "scope": "Namespaced",
			"singularResource": "pod", "verbs": []any{"get", "list", "watch"}, "shortNames": []any{"po"}, "categories": []any{"all"},
		})

		w.header.Set("Accept", aggregated)
		requireStatus(t, w.get("/api/v1"), 406, "NotAcceptable")
		w.header.Set("Accept", strings.Replace(aggregated, "v=v2", "v=v2beta1", 1)+",application/json")
		assert.Equal(t, "APIGroupList", decode(t, w.get("/apis").text)["kind"], "a client that only accepts an older format receives the plain one")
	})
}
