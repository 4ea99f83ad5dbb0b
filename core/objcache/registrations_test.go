package objcache

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func pod(name string) Registrant { return Registrant{"default", name, "uid-" + name} }

// TestK14_RegisterIdempotence ports the kubelet's test of the same name.
func TestK14_RegisterIdempotence(t *testing.T) {
	w := newWorld(t, Config{})
	r := NewRegistrations(w.cache)
	uses := []ID{secret("a"), secret("b"), secret("a")}
	for range 3 {
		r.Register(pod("p"), uses)
		require.Equal(t, Counters{Items: 2, References: 2, Watches: 2}, w.cache.Inspect())
	}
	require.Equal(t, 2, w.lists, "names that both versions use remain registered")
	r.Unregister(pod("p"))
	r.Unregister(pod("p"))
	require.Equal(t, Counters{}, w.cache.Inspect())
}

// TestK14_CacheRefcounts ports the kubelet's test of the same name. Pods are created,
// changed and deleted, and only the references of their last versions remain.
func TestK14_CacheRefcounts(t *testing.T) {
	w := newWorld(t, Config{})
	r := NewRegistrations(w.cache)
	s := func(names ...string) (ids []ID) {
		for _, name := range names {
			ids = append(ids, secret(name))
		}
		return ids
	}
	r.Register(pod("p1"), s("s1", "s2"))
	r.Register(pod("p2"), s("s2", "s3"))
	r.Register(pod("p1"), s("s2", "s4"))
	r.Register(Registrant{"default", "p2", "uid-other"}, s("s3")) // created again before the old pod was removed
	r.Unregister(pod("p2"))
	r.Register(pod("p3"), nil)
	r.Unregister(pod("never"))
	require.Equal(t, []Holder{
		{ID: secret("s2"), Owner: "uid-p1", Count: 1},
		{ID: secret("s3"), Owner: "uid-other", Count: 1},
		{ID: secret("s4"), Owner: "uid-p1", Count: 1},
	}, plain(w.cache.Holders()))
}

func TestK14_InvalidNameIsOmitted(t *testing.T) {
	w := newWorld(t, Config{})
	r := NewRegistrations(w.cache)
	r.Register(pod("p"), []ID{secret("a"), {"secrets", "default/b"}})
	r.Unregister(pod("p"))
	require.Equal(t, Counters{}, w.cache.Inspect())
}
