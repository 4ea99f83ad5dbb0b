package kubeapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/kubeapi/kubeapitest"
)

// The client may read only one namespace. No response to any of its requests may contain
// data of an object in another namespace (rule B25).
func TestResponsesDiscloseNothingOfOtherNamespaces(t *testing.T) {
	rules := &book{rights: map[string][]string{"ann": {
		"get v1/configmaps known in namespace team-b", "list v1/configmaps in namespace team-b", "watch v1/configmaps in namespace team-b",
	}}}
	run(t, kubeapi.Config{Access: rules}, func(t *testing.T, w *world) {
		var planted sentinel.Set
		configMaps := api.Resource{Version: "v1", Name: "configmaps"}
		for _, namespace := range []string{"team-a", "team-b"} {
			for i := range 20 {
				key := api.Key(fmt.Sprintf("%s/cm-%02d", namespace, i))
				own := planted.Plant(string(key))
				if key = api.Key(namespace + "/cm-" + own); i == 0 {
					key = api.Key(namespace + "/known")
				}
				value := fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,"labels":{"app":"web","own":%q},`+
					`"annotations":{"own":%q}},"data":{%q:%q}}`, key.Name(), namespace, own, own, own, own, own)
				if i == 19 {
					value = []byte(`{"metadata":{"name":"` + own)
				}
				w.source.Put(configMaps, key, value)
			}
		}
		synctest.Wait()
		probe := &kubeapitest.Probe{
			T: t, Resource: "/api/v1/configmaps", Mine: "team-b", Foreign: "team-a", Known: "known", Planted: &planted,
			MayRead: func(name string) bool { return strings.HasPrefix(name, "team-b/") },
			Do: func(method, path string, header http.Header) *http.Response {
				r, err := http.NewRequestWithContext(t.Context(), method, "http://cluster"+path, nil)
				require.NoError(t, err)
				header.Set("Authorization", "Bearer ann")
				r.Header = header
				response, err := w.client.Do(r)
				require.NoError(t, err)
				return response
			},
		}
		probe.Run()
	})
}
