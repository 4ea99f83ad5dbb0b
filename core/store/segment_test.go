package store

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// testSegment is a segment of the given keys.
type testSegment struct {
	keys   []api.Key
	loaded int
	gone   bool
}

func (r *testSegment) Len() int { return len(r.keys) }

func (r *testSegment) Load(s *Store) {
	r.loaded++
	for _, key := range r.keys {
		if s.Find(key) == 0 { // a loader that checks for duplicates must not trigger another load
			s.Add(put(s.arena, key, 1, 0))
		}
	}
}

func (r *testSegment) Drop() { r.gone = true }

// waiting returns a store that consists of unloaded segments of the given length. It also
// returns these segments and the keys of their objects.
func waiting(t *testing.T, length int) (*Store, []*testSegment, []api.Key) {
	s := New(NewArena())
	var all []api.Key
	for i := range 40 {
		all = append(all, api.Key(fmt.Sprintf("k%02d", 2*i)))
	}
	var list []*testSegment
	for keys := range slices.Chunk(all, length) {
		r := &testSegment{keys: keys}
		require.True(t, s.AddSegment(keys[0], r))
		list = append(list, r)
	}
	return s, list, all
}

func loaded(list []*testSegment) (n int) {
	for _, r := range list {
		n += r.loaded
	}
	return n
}

// Any sequence of operations gives the same results as if all segments had been loaded at
// the start, and loads each segment once.
func TestUnloadedSegmentsAreInvisibleToReaders(t *testing.T) {
	for seed := range int64(60) {
		random := rand.New(rand.NewSource(seed))
		s, list, all := waiting(t, 1+random.Intn(12))
		m := model{}
		for _, key := range all {
			m[key] = 1
		}
		some := func() api.Key { return api.Key(fmt.Sprintf("k%02d", random.Intn(82))) }
		for range 1 + random.Intn(25) {
			key := some()
			switch random.Intn(6) {
			case 0:
				m.checkPrevious(t, s, key, s.Set(put(s.arena, key, 2, 0)))
				m[key] = 2
			case 1:
				m.checkPrevious(t, s, key, s.Remove(key))
				delete(m, key)
			case 2:
				_, has := m[key]
				require.Equal(t, has, s.Get(key) != 0)
			case 3:
				limit := 1 + random.Intn(5)
				var want []api.Key
				for _, k := range slices.Sorted(maps.Keys(m)) {
					if k >= key && len(want) < limit {
						want = append(want, k)
					}
				}
				require.Equal(t, append([]api.Key{}, want...), keys(s, key, limit))
			case 4:
				require.Equal(t, len(m), s.Len())
			case 5:
				if s.Behind(key) {
					require.Empty(t, keys(s, key, 1))
				}
			}
		}
		if random.Intn(2) == 0 {
			s.EnableRanks()
			require.Equal(t, len(list), loaded(list))
		}
		var got []api.Key
		s.Objects(func(id ID, ref Ref) bool { got = append(got, s.arena.Key(ref)); return true })
		require.Equal(t, slices.Sorted(maps.Keys(m)), got)
		m.check(t, s, some())
		for _, r := range list {
			require.Equal(t, 1, r.loaded)
		}
	}
}

// A read loads only the segments it needs.
func TestReadsLoadOnlyTheSegmentsTheyNeed(t *testing.T) {
	s, list, all := waiting(t, 10)
	require.Equal(t, len(all), s.Len())
	require.Zero(t, loaded(list))
	require.NotZero(t, s.Get("k22"))
	require.NotZero(t, s.Get("k24"))
	require.Equal(t, 1, loaded(list))
	require.Zero(t, s.Get("k19"), "the first segment would contain it")
	require.Equal(t, []int{1, 1}, []int{list[0].loaded, list[1].loaded})
	require.Len(t, keys(s, "k42", 3), 3)
	require.Equal(t, 3, loaded(list))
	require.Zero(t, list[3].loaded)
	s.Clear()
	require.Equal(t, []bool{false, false, false, true}, []bool{list[0].gone, list[1].gone, list[2].gone, list[3].gone})
	require.Zero(t, s.Len())
	require.Zero(t, s.arena.Versions())
}

// AddSegment rejects a segment that does not sort after all others. It also rejects every
// segment if the store has loaded objects.
func TestAddSegmentRejectsSegmentsOutOfOrder(t *testing.T) {
	s, _, _ := waiting(t, 10)
	require.False(t, s.AddSegment("k59", &testSegment{}), "the last segment begins after it")
	require.False(t, s.AddSegment("k60", &testSegment{}), "or at it")
	s = New(NewArena())
	s.Set(put(s.arena, "a", 1, 0))
	require.False(t, s.AddSegment("b", &testSegment{}))
}
