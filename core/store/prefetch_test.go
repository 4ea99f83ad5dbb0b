package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

func changesOf(keys ...api.Key) []wire.Change {
	changes := make([]wire.Change, len(keys))
	for i, key := range keys {
		changes[i].Key = key
	}
	return changes
}

func TestPrefetchFindsMostObjects(t *testing.T) {
	h := NewArena()
	s := New(h)
	var present, absent []api.Key
	for n := range 4000 {
		if n%4 == 0 {
			absent = append(absent, keyOf(n))
			continue
		}
		present = append(present, keyOf(n))
		s.Set(put(h, keyOf(n), 1, n%600))
	}
	for i, key := range present {
		if i%10 == 0 { // versions with a base, and reused IDs
			base := s.Get(key)
			o := api.Object{Key: key}
			require.Equal(t, base, s.Set(h.Put(Version{ResourceVersion: 2, Base: base, Envelope: wire.AppendEnvelope(nil, &o)})))
		}
	}
	prefetched := s.Prefetch([]ID{7}, changesOf(present...))
	require.Equal(t, ID(7), prefetched[0], "it appends")
	wrong := 0
	for i, key := range present {
		if prefetched[1+i] != s.Find(key) {
			wrong++
		}
	}
	require.Less(t, wrong, len(present)/50)
	for _, id := range s.Prefetch(nil, changesOf(absent...)) {
		require.Less(t, int(id), len(s.versions), "another object or no object")
	}
}

func TestPrefetchInAnEmptyStore(t *testing.T) {
	require.Equal(t, []ID{0, 0}, New(NewArena()).Prefetch(nil, changesOf("a", "b")))
}
