package api_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// These indexes must never change, because they determine which Durable Object stores
// a namespace. testdata/edge/clusters.json has more cases.
func TestShardOfANamespaceNeverChanges(t *testing.T) {
	for namespace, index := range map[string]uint32{"": 5, "default": 14, "kube-system": 14, "shop": 9, "web": 1} {
		assert.Equal(t, api.Shard{Index: index, Count: 16}, api.ShardOf(namespace, 16), namespace)
	}
}

func TestEveryNamespaceIsInOneShard(t *testing.T) {
	const namespaces = 1000
	for _, count := range []uint32{1, 2, 3, 16, 256} {
		sizes := make([]int, count)
		for i := range namespaces {
			namespace, in := fmt.Sprintf("team-%d-%s", i/3, []string{"dev", "stage", "prod"}[i%3]), 0
			for index := range count {
				if (api.Shard{Index: index, Count: count}).Has(namespace) {
					in++
					sizes[index]++
				}
			}
			require.Equal(t, 1, in, namespace)
		}
		for index, size := range sizes {
			if count <= 16 {
				assert.InDelta(t, namespaces/count, size, 0.4*namespaces/float64(count), "%d of %d", index, count)
			}
		}
	}
	assert.True(t, api.Shard{}.Has("anything"))
}

func TestParseShard(t *testing.T) {
	for _, s := range []api.Shard{{}, {Index: 0, Count: 1}, {Index: 15, Count: 16}, {Index: 1<<32 - 2, Count: 1<<32 - 1}} {
		parsed, status := api.ParseShard(s.String())
		require.Nil(t, status)
		assert.Equal(t, s, parsed)
	}
	for _, text := range []string{
		"3", "3/16", "16-of-16", "-1-of-16", "0-of-0", "03-of-16", "3-of-16 ", "3-of-", "-of-16", "-of-", "3-of-16-of-17", "0-of-4294967296",
	} {
		_, status := api.ParseShard(text)
		require.NotNil(t, status, text)
		assert.Equal(t, 400, status.Code)
		assert.Contains(t, status.Message, "such as 0-of-16")
	}
}
