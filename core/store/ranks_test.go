package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func checkRanks(t *testing.T, s *Store) {
	t.Helper()
	last := ID(0)
	s.Objects(func(id ID, _ Ref) bool {
		require.True(t, last == 0 || s.Before(last, id) && !s.Before(id, last), "%d %d", last, id)
		last = id
		return true
	})
}

// The ranks are in key order for any insertion order, even after many insertions between
// the same two keys.
func TestBeforeAgreesWithKeyOrder(t *testing.T) {
	const n = 3000
	shuffled := randomOf(8).Perm(n)
	for name, number := range map[string]func(i int) int{
		"up":     func(i int) int { return i },
		"down":   func(i int) int { return n - i },
		"inward": func(i int) int { return []int{i, 2*n - i}[i%2] },
		"random": func(i int) int { return shuffled[i] },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(NewArena())
			s.Add(put(s.arena, "a", 1, 0))
			s.EnableRanks()
			s.Add(put(s.arena, "z", 1, 0))
			for i := range n {
				s.Add(put(s.arena, api.Key(fmt.Sprintf("b-%06d", number(i))), 1, 0))
				if i%100 == 0 {
					checkRanks(t, s)
				}
			}
			checkRanks(t, s)
		})
	}
}

// Objects that are removed by rank leave the others in order.
func TestRemovalsByRank(t *testing.T) {
	s, random := New(NewArena()), randomOf(9)
	s.EnableRanks()
	model := map[api.Key]bool{}
	for i := range 20_000 {
		key := keyOf(random.Intn(500))
		require.Equal(t, model[key], s.Find(key) != 0)
		if model[key] {
			s.arena.Release(s.Remove(key))
		} else {
			s.Add(put(s.arena, key, 1, 0))
		}
		if model[key] = !model[key]; i%100 == 0 {
			checkRanks(t, s)
			var keys []api.Key
			s.Objects(func(id ID, _ Ref) bool {
				keys = append(keys, s.key(id))
				return true
			})
			require.True(t, slices.IsSorted(keys))
			for key, present := range model {
				require.Equal(t, present, slices.Contains(keys, key), key)
			}
		}
	}
}

func TestRanksAtTheEnds(t *testing.T) {
	p := ranks{0, ^uint64(0) - 1, 1}
	require.False(t, p.put(3, 1, 0), "no room after the last")
	require.False(t, p.put(3, 0, 2), "no room before the first")
	require.True(t, p.put(3, 2, 1))
	require.False(t, p.put(4, 2, 2), "no room between adjacent positions")
	var o Ordered
	for _, id := range []ID{2, 4, 3, 1} {
		o.Append(id)
	}
	p.renumber(&o)
	require.True(t, slices.IsSorted([]uint64{p[2], p[4], p[3], p[1]}))
}
