package edge

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func TestObjectsOfNamespaces(t *testing.T) {
	text, err := os.ReadFile("../../testdata/edge/clusters.json")
	require.NoError(t, err)
	var file struct {
		Clusters json.RawMessage
		Objects  []struct{ Cluster, Resource, Namespace, Object, Message string }
	}
	require.NoError(t, json.Unmarshal(text, &file))
	clusters, err := ParseClusters(string(file.Clusters))
	require.NoError(t, err)
	for _, o := range file.Objects {
		object, status := clusters[o.Cluster].objectFor(o.Resource, o.Namespace)
		if o.Message != "" {
			assert.Equal(t, api.NotFound(o.Message), status)
			continue
		}
		require.Nil(t, status)
		assert.Equal(t, o.Object, objectName(o.Cluster, object))
	}
}

func TestDividedResourceIsNotInOneObject(t *testing.T) {
	c := Cluster{Groups: []Group{{Name: "pods", Resources: []string{"v1/pods"}, Shards: 2}, {Name: "rest"}}}
	_, status := c.objectFor("v1/pods", "")
	assert.Equal(t, api.BadRequest("v1/pods is divided by namespace over 2 objects of this edge: request one namespace, or all of one object over a WebSocket, as watchglass get does with /watch?shard=0-of-2"), status)
	assert.Equal(t, []string{"pods/0-of-2", "pods/1-of-2", "rest"}, c.objects())
}

func TestParseClusters(t *testing.T) {
	one, err := ParseClusters("")
	require.NoError(t, err)
	assert.Equal(t, Clusters{DefaultCluster: {}}, one)
	for text, want := range map[string]string{
		`[]`:                                   "invalid clusters",
		`{"a": {"b": 1}}`:                      "unknown field",
		`{"A": {}}`:                            `cluster "A": expected lower case`,
		`{"": {}}`:                             `cluster "": expected`,
		`{"a": {"regions": 1}}`:                "cluster a has 1 regions: expected none, or groups that all name",
		`{"a": {"regions": -1}}`:               "cluster a has -1 regions",
		`{"a": {"groups": [{}]}}`:              `cluster a, group 1: the name ""`,
		`{"a": {"groups": [{"name": "x/y"}]}}`: `the name "x/y"`,
		`{"a": {"groups": [{"name": "x"}, {"name": "x"}]}}`:                           "cluster a: two groups are called x",
		`{"a": {"groups": [{"name": "x", "resources": ["pods"]}]}}`:                   `cluster a, group x: 400 BadRequest: invalid resource "pods"`,
		`{"a": {"groups": [{"name": "x", "resources": ["v1/pods"], "shards": 1}]}}`:   "cluster a, group x: 1 shards, expected 2 to 256, or none for one object",
		`{"a": {"groups": [{"name": "x", "resources": ["v1/pods"], "shards": 257}]}}`: "257 shards, expected 2 to 256",
		`{"a": {"groups": [{"name": "x", "resources": ["v1/pods"], "shards": -1}]}}`:  "invalid clusters",
		`{"a": {"groups": [{"name": "x", "shards": 2}]}}`:                             "cluster a, group x: it is divided by namespace, so it must name its resources",
	} {
		_, err := ParseClusters(text)
		require.ErrorContains(t, err, want, text)
	}
}
