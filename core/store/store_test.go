package store

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func keys(s *Store, from api.Key, limit int) []api.Key {
	list := []api.Key{}
	s.Ascend(from, func(ref Ref) bool {
		list = append(list, s.arena.Key(ref))
		return len(list) != limit
	})
	return list
}

func TestStoreKeepsOneVersionPerKey(t *testing.T) {
	h := NewArena()
	s := New(h)
	a1, a2 := put(h, "a", 1, 0), put(h, "a", 2, 0)
	assert.Zero(t, s.Get("a"))
	assert.Zero(t, s.Remove("a"))
	assert.Zero(t, s.Set(a1))
	assert.Equal(t, a1, s.Set(a2), "with its reference count")
	assert.Equal(t, 2, h.Versions())
	h.Release(a1)
	assert.Equal(t, a2, s.Get("a"))
	assert.Equal(t, 1, s.Len())
	assert.Equal(t, a2, s.Remove("a"))
	h.Release(a2)
	assert.Zero(t, h.Versions())
}

func TestC41_StoreAscendsByKey(t *testing.T) {
	h := NewArena()
	s := New(h)
	for _, key := range []api.Key{"b/x", "a/y", "a/x", "a-b/x", "b/xx", "a.b/x"} {
		s.Set(put(h, key, 1, 0))
	}
	all := []api.Key{"a-b/x", "a.b/x", "a/x", "a/y", "b/x", "b/xx"}
	assert.Equal(t, all, keys(s, "", 0))
	assert.Equal(t, all[3:], keys(s, "a/x\x00", 0))
	assert.Equal(t, all[2:4], keys(s, "a/", 2))
	assert.Empty(t, keys(s, "c", 0))
	s.Clear()
	assert.Zero(t, s.Len())
	assert.Empty(t, keys(s, "", 0))
	assert.Zero(t, h.Versions())
	s.Set(put(h, "a", 1, 0))
	assert.Equal(t, []api.Key{"a"}, keys(s, "", 0), "a cleared store equals a new one")
}

func TestStoreCountsBetweenKeys(t *testing.T) {
	h := NewArena()
	s := New(h)
	for i := range 5 * chunkSize {
		s.Set(put(h, api.Key(fmt.Sprintf("ns/%05d", 2*i)), 1, 0))
	}
	random := rand.New(rand.NewSource(1))
	bound := func() api.Key {
		return [...]api.Key{"", "a", "z", api.Key(fmt.Sprintf("ns/%05d", random.Intn(10*chunkSize)))}[max(0, random.Intn(8)-4)%4]
	}
	for range 1000 {
		from, to := bound(), bound()
		n := 0
		for _, key := range keys(s, from, 0) {
			if to == "" || key < to {
				n++
			}
		}
		require.Equal(t, n, s.Between(from, to), "%q %q", from, to)
	}
}

// Two stores can refer to the same versions. A version remains until both stores have
// released it.
func TestStoresShareAnArena(t *testing.T) {
	h := NewArena()
	present, next := New(h), New(h)
	same, old := put(h, "same", 1, 0), put(h, "old", 1, 0)
	present.Set(same)
	present.Set(old)
	next.Set(h.Retain(same))
	present.Clear()
	assert.Equal(t, 1, h.Versions())
	assert.Equal(t, same, next.Get("same"))
}

// model is a simple store, without an index, an order or reference counts.
type model map[api.Key]api.ResourceVersion

func (m model) check(t *testing.T, s *Store, from api.Key) {
	t.Helper()
	sorted := slices.Sorted(maps.Keys(m))
	at, _ := slices.BinarySearch(sorted, from)
	require.Equal(t, append([]api.Key{}, sorted[at:]...), keys(s, from, 0))
	require.Equal(t, len(m), s.Len())
	require.Equal(t, len(m), s.arena.Versions(), "no other reference to a version remains")
}

func (m model) set(t *testing.T, s *Store, key api.Key, rv api.ResourceVersion, size int) {
	t.Helper()
	ref := put(s.arena, key, rv, size, "rv", rv.String())
	behind := s.Behind(key)
	require.Equal(t, len(keys(s, key, 1)) == 0, behind)
	if behind && rv%2 == 0 {
		s.Append(ref)
		m.checkPrevious(t, s, key, 0)
	} else {
		m.checkPrevious(t, s, key, s.Set(ref))
	}
	m[key] = rv
}

func (m model) remove(t *testing.T, s *Store, key api.Key) {
	t.Helper()
	m.checkPrevious(t, s, key, s.Remove(key))
	delete(m, key)
}

func (m model) checkPrevious(t *testing.T, s *Store, key api.Key, previous Ref) {
	t.Helper()
	rv, known := m[key]
	require.Equal(t, known, previous != 0)
	if known {
		require.Equal(t, rv, s.arena.ResourceVersion(previous))
		require.Equal(t, key, s.arena.Key(previous))
	}
	s.arena.Release(previous)
}

func TestStoreAgainstModel(t *testing.T) {
	h := NewArena()
	s, m, random := New(h), model{}, randomOf(5)
	for step := range 50_000 {
		key := keyOf(random.Intn(3_000))
		if random.Intn(5) < 3 {
			m.set(t, s, key, api.ResourceVersion(step), random.Intn(200))
		} else {
			m.remove(t, s, key)
		}
		if step%5_000 == 0 {
			m.check(t, s, keyOf(random.Intn(3_000)))
		}
	}
	m.check(t, s, "")
	s.Clear()
	assert.Zero(t, h.UsedBytes())
}

// FuzzStore compares a store with a model. Each byte is an operation: the high
// bits select the operation, the low bits the key.
func FuzzStore(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0x81, 0xc0, 0x41, 0xff})
	f.Add([]byte("the quick brown fox jumps over the lazy dog"))
	f.Fuzz(func(t *testing.T, operations []byte) {
		h := NewArena()
		s, m := New(h), model{}
		for i, op := range operations {
			key := keyOf(int(op & 0x1f))
			switch op >> 6 {
			case 0, 1:
				m.set(t, s, key, api.ResourceVersion(i+1), int(op)*int(op))
			case 2:
				m.remove(t, s, key)
			case 3:
				m.check(t, s, key)
				if op == 0xff {
					s.Clear()
					clear(m)
				}
			}
		}
		m.check(t, s, "")
		s.Clear()
		require.Zero(t, h.UsedBytes())
		require.Equal(t, 1, h.Labels.Len())
	})
}
