package edge

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func TestPlaces(t *testing.T) {
	text, err := os.ReadFile("../../testdata/edge/places.json")
	require.NoError(t, err)
	var file struct {
		Clusters json.RawMessage
		Places   []struct{ Cluster, Resource, Object, Message string }
	}
	require.NoError(t, json.Unmarshal(text, &file))
	clusters, err := ParseClusters(string(file.Clusters))
	require.NoError(t, err)
	for _, p := range file.Places {
		shard, status := clusters[p.Cluster].find(p.Resource)
		if p.Message != "" {
			assert.Equal(t, api.NotFound(p.Message), status)
			continue
		}
		require.Nil(t, status)
		assert.Equal(t, p.Object, objectName(p.Cluster, shard.Name))
	}
}

func TestParseClusters(t *testing.T) {
	one, err := ParseClusters("")
	require.NoError(t, err)
	assert.Equal(t, Clusters{DefaultCluster: {}}, one)
	for text, want := range map[string]string{
		`[]`:                                   "the clusters are not what is expected",
		`{"a": {"b": 1}}`:                      "unknown field",
		`{"A": {}}`:                            `cluster "A": expected lower case`,
		`{"": {}}`:                             `cluster "": expected`,
		`{"a": {"regions": 1}}`:                "cluster a has 1 regions: expected none, or shards that all name",
		`{"a": {"regions": -1}}`:               "cluster a has -1 regions",
		`{"a": {"shards": [{}]}}`:              `cluster a, shard 1: the name ""`,
		`{"a": {"shards": [{"name": "x/y"}]}}`: `the name "x/y"`,
		`{"a": {"shards": [{"name": "x"}, {"name": "x"}]}}`:         "cluster a: two shards are called x",
		`{"a": {"shards": [{"name": "x", "resources": ["pods"]}]}}`: `cluster a, shard x: 400 BadRequest: invalid resource "pods"`,
	} {
		_, err := ParseClusters(text)
		require.ErrorContains(t, err, want, text)
	}
}
