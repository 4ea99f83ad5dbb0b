package store

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func TestEmptyIndex(t *testing.T) {
	s := New(NewArena())
	assert.Zero(t, s.index.get(s, "a"))
	assert.Zero(t, s.index.remove(s, "a"))
}

func TestIndexAgainstMap(t *testing.T) {
	s, random := New(NewArena()), randomOf(4)
	model := map[api.Key]ID{}
	for range 100_000 {
		key := keyOf(random.Intn(3000))
		require.Equal(t, model[key], s.Find(key))
		switch random.Intn(3) {
		case 0:
			if model[key] == 0 {
				model[key] = s.Add(put(s.arena, key, 1, 0))
			}
		case 1:
			s.arena.Release(s.Remove(key))
			delete(model, key)
		}
	}
	for key, id := range model {
		require.Equal(t, id, s.Find(key))
		require.Equal(t, key, s.key(id))
	}
	count := 0
	for i := range s.index.tables {
		table := &s.index.tables[i]
		count += table.count
		assert.LessOrEqual(t, table.count*8, table.slots()*7)
	}
	assert.Len(t, model, count)
}

// After the removal of any key of a probe chain, lookups still find the other keys. The
// keys of the chain all hash to one slot of a small table.
func TestIndexRemovesFromChains(t *testing.T) {
	var chain []api.Key
	for i := 0; len(chain) < 6; i++ {
		if h := hash(keyOf(i)); tableOf(h) == 5 && h&7 == 6 { // the chain wraps around the end
			chain = append(chain, keyOf(i))
		}
	}
	for out := range chain {
		s := New(NewArena())
		ids := map[api.Key]ID{}
		for _, key := range chain {
			ids[key] = s.Add(put(s.arena, key, 1, 0))
		}
		require.Len(t, s.index.tables[5].groups, 1)
		require.NotZero(t, s.Remove(chain[out]))
		for i, key := range chain {
			if i == out {
				assert.Zero(t, s.Find(key))
			} else {
				assert.Equal(t, ids[key], s.Find(key), "%d after %d went", i, out)
			}
		}
	}
}

// Removals keep chains intact whose entries are further from their home than a slot can
// represent.
func TestIndexRemovesFromLongChains(t *testing.T) {
	const n = 300
	s, random := New(NewArena()), randomOf(5)
	var chain []api.Key
	for i := 0; len(chain) < n; i++ {
		if key := keyOf(i); tableOf(hash(key)) == 5 && hash(key)&511 == 500 {
			chain = append(chain, key)
		}
	}
	table := &s.index.tables[5]
	table.resize(s, 512/groupSize)
	for _, key := range chain {
		s.Add(put(s.arena, key, 1, 0))
	}
	require.Equal(t, 512, table.slots())
	for len(chain) > 0 {
		i := random.Intn(len(chain))
		require.NotZero(t, s.Remove(chain[i]))
		require.Zero(t, s.Find(chain[i]))
		chain = slices.Delete(chain, i, i+1)
		for _, key := range chain {
			require.Equal(t, key, s.key(s.Find(key)))
		}
	}
}

// The hashes of generated names that differ in one character spread over tables, slots and
// tags.
func TestHashSpreads(t *testing.T) {
	const n = 1 << 14
	var tables [1 << tableBits]int
	slots, tags := map[uint64]int{}, map[uint8]int{}
	for i := range n {
		h := hash(keyOf(i))
		tables[tableOf(h)]++
		slots[h%256]++
		tags[tagOf(h)]++
	}
	for _, count := range tables {
		assert.InDelta(t, n>>tableBits, count, 100)
	}
	for i := range 256 {
		assert.InDelta(t, n/256, slots[uint64(i)], 45)
		assert.InDelta(t, n/256, tags[uint8(i)], 45)
	}
}

func TestUpdatesKeepObjectIDs(t *testing.T) {
	h := NewArena()
	s := New(h)
	a, b := s.Add(put(h, "a", 1, 0)), s.Add(put(h, "b", 1, 0))
	assert.NotEqual(t, a, b)
	h.Release(s.Set(put(h, "a", 2, 0)))
	assert.Equal(t, a, s.Find("a"), "a new version is the same object")
	assert.EqualValues(t, 2, h.ResourceVersion(s.Version(a)))
	h.Release(s.Remove("a"))
	assert.Zero(t, s.Version(a))
	assert.Equal(t, a, s.Add(put(h, "c", 1, 0)), "the number is reused")
	assert.Equal(t, b, s.Find("b"))
}

func TestIndexDoesNotGrowAfterExpect(t *testing.T) {
	s := New(NewArena())
	s.Expect(10_000)
	room := s.index.tables
	for i := range 10_000 {
		s.Add(put(s.arena, keyOf(i), 1, 0))
	}
	for i := range room {
		assert.Equal(t, room[i].slots(), s.index.tables[i].slots())
	}
	s.Expect(20_000)
	assert.NotZero(t, s.Find(keyOf(0)), "existing objects remain")
}
