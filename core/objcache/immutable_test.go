package objcache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// TestK11_ImmutableSecretStopsTheReflector runs the kubelet's table of five cases.
func TestK11_ImmutableSecretStopsTheReflector(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name              string
		initial, eventual *bool // immutable, or nil for no object
		stopped           bool
	}{
		{"secret doesn't exist", nil, nil, false},
		{"secret exists and is mutable", &no, nil, false},
		{"secret exists and is immutable", &yes, nil, true},
		{"secret created afterwards, mutable", nil, &no, false},
		{"secret becomes immutable", &no, &yes, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Config{})
			id := secret("a")
			for _, immutable := range []*bool{c.initial, c.eventual} {
				if immutable == nil {
					continue
				}
				w.put(id, "u", *immutable)
				if len(w.cache.items) == 0 {
					w.add(id, "pod")
				}
				w.spread()
				require.Len(t, w.own, 1, "no watch stops before a read")
				w.get(id)
			}
			if len(w.cache.items) == 0 {
				w.add(id, "pod")
				w.get(id)
			}
			require.Equal(t, c.stopped, len(w.own) == 0)
			before := w.lists
			w.get(id)
			require.Equal(t, before, w.lists, "the copy is served without a request")
		})
	}
}

// TestK11_StaleImmutables reproduces kubernetes/kubernetes#131589: an immutable object is
// deleted and created again while a copy of the old object is cached.
func TestK11_StaleImmutables(t *testing.T) {
	setup := func(t *testing.T) *world {
		w := newWorld(t, Config{})
		id := secret("a")
		w.put(id, "old", true)
		w.add(id, "pod-1")
		w.finds(id, 1)
		require.Empty(t, w.own)
		w.delete(id)
		w.put(id, "new", true)
		w.finds(id, 1) // the cache cannot detect the new object
		return w
	}
	id := secret("a")
	t.Run("a new owner has it checked with one list", func(t *testing.T) {
		w := setup(t)
		w.add(id, "pod-2")
		require.Equal(t, 2, w.lists)
		require.Empty(t, w.own)
		w.finds(id, 3)
		w.add(id, "pod-2")
		require.Equal(t, 2, w.lists, "it is not a new owner")
	})
	t.Run("a Get after maxIdle", func(t *testing.T) {
		w := setup(t)
		w.tick(5 * minute)
		w.finds(id, 1)
		w.tick(1)
		w.finds(id, 3)
		require.Equal(t, 2, w.lists)
		require.Empty(t, w.own)
		w.finds(id, 3)
		require.Equal(t, 2, w.lists)
	})
	t.Run("gone for good", func(t *testing.T) {
		w := setup(t)
		w.delete(id)
		w.add(id, "pod-2")
		w.fails(id, "not found")
		require.Len(t, w.own, 1, "watched again")
	})
	t.Run("the server cannot be reached", func(t *testing.T) {
		w := setup(t)
		w.slow = true
		w.tick(6 * minute)
		a := w.get(id)
		w.tick(999)
		require.False(t, a.came)
		w.tick(1)
		require.Nil(t, a.status, "the copy is served if the request fails")
		w.finds(id, 1) // without another wait
		w.spread()
		w.finds(id, 3)
	})
	t.Run("a collection that is opened knows better", func(t *testing.T) {
		w := setup(t)
		s := w.cover()
		w.finds(id, 3)
		w.delete(id)
		w.spread()
		w.fails(id, "not found")
		w.uncover(s)
		require.Equal(t, 2, w.lists)
		w.fails(id, "not found")
	})
	t.Run("someone follows it", func(t *testing.T) {
		w := setup(t)
		w.cache.Follow(id)
		look, _ := w.cache.Look(id)
		require.Equal(t, "new", look.Object.Envelope.UID())
		require.Len(t, w.own, 1)
	})
}

func TestCoveringCollectionsAreUsed(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	w.put(id, "u", true)
	s := w.cover()
	w.add(id, "page")
	w.cache.Follow(id)
	w.finds(id, 1)
	require.Zero(t, w.lists)
	require.Equal(t, 1, w.cache.Inspect().Covered)
	w.tick(60 * minute)

	w.slow = true
	w.uncover(s)
	require.Equal(t, 1, w.lists, "it has its own watch")
	look, _ := w.cache.Look(id)
	require.Equal(t, api.StateReconnecting, look.State)
	require.False(t, look.Known, "the last result remains")
	w.spread()
	w.finds(id, 1)

	behind := w.cover()
	w.put(id, "u", true)
	w.own[0].see()
	w.cache.Settle()
	require.Equal(t, 1, w.cache.Inspect().Covered, "it had already switched")
	w.finds(id, 1)
	behind.see()
	w.cache.Settle()
	w.finds(id, 2)
	require.Empty(t, w.own)
}

func TestACollectionThatIsBehindIsNotUsedYet(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	w.put(id, "u", false)
	behind := &source{w: w}
	behind.see()
	w.put(id, "u", false)
	w.add(id, "pod")
	w.finds(id, 2)
	w.covers = append(w.covers, behind)
	w.finds(id, 2)
	require.Len(t, w.own, 1)
	behind.see()
	w.finds(id, 2)
	require.Empty(t, w.own)
}

func TestRestartedSourceIsAwaited(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	w.put(id, "u", false)
	w.add(id, "pod")
	w.finds(id, 1)
	w.own[0].loaded, w.own[0].objects = false, nil
	a := w.get(id)
	require.False(t, a.came, "its absence is not confirmed")
	w.spread()
	require.NotNil(t, a.object)
}

func TestK12_AnIdleItemOpensNoWatchWhenItsCollectionCloses(t *testing.T) {
	w := newWorld(t, Config{})
	id := secret("a")
	s := w.cover()
	w.add(id, "pod")
	w.tick(6 * minute)
	w.uncover(s)
	require.Zero(t, w.lists)
	w.fails(id, "not found")
	require.Equal(t, 1, w.lists)
}
