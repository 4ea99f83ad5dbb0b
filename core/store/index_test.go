package store

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func TestIndexOfNothing(t *testing.T) {
	h, x := NewHeap(), index{}
	assert.Zero(t, x.get(h, "a"))
	assert.Zero(t, x.remove(h, "a"))
}

func TestIndexAgainstMap(t *testing.T) {
	h, x, random := NewHeap(), index{}, randomOf(4)
	model := map[api.Key]Ref{}
	for range 100_000 {
		key := keyOf(random.Intn(600))
		switch random.Intn(3) {
		case 0:
			require.Equal(t, model[key], x.get(h, key))
		case 1:
			ref := put(h, key, 1, 0)
			old := x.set(h, key, ref)
			require.Equal(t, model[key], old)
			model[key] = ref
			h.Release(old)
		case 2:
			old := x.remove(h, key)
			require.Equal(t, model[key], old)
			delete(model, key)
			h.Release(old)
		}
		require.Equal(t, len(model), x.count)
	}
	for key, ref := range model {
		require.Equal(t, ref, x.get(h, key))
	}
	assert.LessOrEqual(t, x.count*4, len(x.slots)*3)
}

// Keys that all hash to one slot of a small table make one long chain; each in
// turn is taken out of its middle.
func TestIndexRemovesFromChains(t *testing.T) {
	h := NewHeap()
	var chain []api.Key
	for i := 0; len(chain) < 6; i++ {
		if key := keyOf(i); hash(key)&15 == 14 { // it wraps around the end
			chain = append(chain, key)
		}
	}
	for out := range chain {
		x := index{}
		refs := map[api.Key]Ref{}
		for _, key := range chain {
			refs[key] = put(h, key, 1, 0)
			x.set(h, key, refs[key])
		}
		require.Len(t, x.slots, 16)
		require.Equal(t, refs[chain[out]], x.remove(h, chain[out]))
		for i, key := range chain {
			if i == out {
				assert.Zero(t, x.get(h, key))
			} else {
				assert.Equal(t, refs[key], x.get(h, key), "%d after %d went", i, out)
			}
		}
	}
}
