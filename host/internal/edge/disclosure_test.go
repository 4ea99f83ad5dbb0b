package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/kubeapi/kubeapitest"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// plant writes ConfigMaps with sentinels to two namespaces. One ConfigMap in each namespace
// is invalid.
func (r *rig) plant(planted *sentinel.Set) {
	r.Helper()
	writer, err := etcd.NewWriter(r.store.Client(), etcd.Config{})
	require.NoError(r, err)
	var writes []source.Write
	for _, namespace := range []string{"team-a", "team-b"} {
		for i := range 20 {
			own := planted.Plant(fmt.Sprintf("%s/%d", namespace, i))
			key := api.Key(namespace + "/cm-" + own)
			if i == 0 {
				key = api.Key(namespace + "/known")
			}
			value := fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,"labels":{"app":"web","own":%q},`+
				`"annotations":{"own":%q},"creationTimestamp":"2026-01-01T00:00:00Z"},"data":{%q:%q,"shared":%q}}`, key.Name(), namespace, own, own, own, own, own,
				strings.Repeat("all-siblings-have-this-", 40)) // the objects compress so well together that the connector uses blocks
			if i == 19 {
				value = []byte(`{"metadata":{"name":"` + own)
			}
			writes = append(writes, source.Write{Resource: api.Resource{Version: "v1", Name: "configmaps"}, Key: key, Value: value})
		}
	}
	_, err = writer.Txn(r.Context(), writes...)
	require.NoError(r, err)
}

// A client whose token grants one namespace receives no data that is derived from objects
// in other namespaces (rule B25). The test includes the worker, the Durable Objects, and
// the connector that feeds them.
func TestRestrictedTokensReceiveNothingOfOtherNamespaces(t *testing.T) {
	var planted sentinel.Set
	r := startPrepared(t, 20, "", func(r *rig) { r.plant(&planted) })
	code, body := r.get("/api/v1/configmaps", r.everything())
	require.Equal(t, 200, code, string(body))
	require.Len(t, planted.Find(body), 38, "the edge has all objects but the broken ones")
	mine := r.sign(func(c *token.Claims) { c.Namespaces = []string{"team-b"} })
	mayRead := func(name string) bool { return strings.HasPrefix(name, "team-b/") }
	t.Run("Kubernetes API", func(t *testing.T) {
		client := &http.Client{Transport: &http.Transport{DisableCompression: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		(&kubeapitest.Probe{
			T: t, Resource: "/api/v1/configmaps", Mine: "team-b", Foreign: "team-a", Known: "known", Planted: &planted, MayRead: mayRead,
			Do: r.asker(t, client, mine),
		}).Run()
	})
	t.Run("WebSocket", func(t *testing.T) {
		r := &rig{t, r.demo}
		probe := &connectortest.Probe{
			T: t, Resource: "v1/configmaps", Mine: "team-b", Foreign: "team-a", Known: "known", Planted: &planted, MayRead: mayRead,
			Dial: func() connectortest.Conn {
				conn, _, err := r.dial("/watch?resource=v1/configmaps", []string{wire.Subprotocol}, "Authorization", "Bearer "+mine)
				require.NoError(r, err)
				return connectortest.Over(conn)
			},
		}
		probe.Run()
		require.NotZero(t, probe.Blocks, "the edge forwards the blocks that it has received")
	})
}

// asker returns a function that sends requests with the given token.
func (r *rig) asker(t *testing.T, client *http.Client, bearer string) func(string, string, http.Header) *http.Response {
	return func(method, path string, header http.Header) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), method, r.url(path), nil)
		require.NoError(t, err)
		header.Set("Authorization", "Bearer "+bearer)
		request.Header = header
		response, err := client.Do(request)
		require.NoError(t, err, "%s %s", method, path)
		return response
	}
}
