package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func (w *world) object(key api.Key, opts ObjectOptions) *ObjectHandle {
	w.t.Helper()
	h, err := w.client.Object(w.ctx, "v1/pods", key, opts)
	require.NoError(w.t, err)
	return h
}

// until waits until a snapshot of an object satisfies want, and returns that snapshot.
func (w *world) until(h *ObjectHandle, want func(*ObjectSnapshot) bool) *ObjectSnapshot {
	w.t.Helper()
	for snapshot, err := range h.Changes(w.ctx) {
		require.NoError(w.t, err)
		if want(snapshot) {
			return snapshot
		}
	}
	return nil
}

func (w *world) number(name string) int64 {
	w.t.Helper()
	numbers, err := w.client.Inspect(w.ctx)
	require.NoError(w.t, err)
	for _, n := range numbers {
		if n.Name == name {
			return n.Value
		}
	}
	return -1
}

func TestK2_K9_AnObjectIsFollowed(t *testing.T) {
	w := newWorld(t)
	first := w.put("shop/a", "Pending")
	h := w.object("shop/a", ObjectOptions{Owner: "test"})
	live := w.until(h, func(s *ObjectSnapshot) bool { return s.State == api.StateLive && s.Known })
	require.Equal(t, first, live.Object.ResourceVersion())
	require.Contains(t, string(live.Object.JSON()), `"Pending"`)

	second := w.put("shop/a", "Running")
	w.until(h, func(s *ObjectSnapshot) bool { return s.Object != nil && s.Object.ResourceVersion() == second })
	pod, err := h.Get(w.ctx)
	require.NoError(t, err)
	require.Equal(t, second, pod.ResourceVersion())

	w.source.Delete(pods, "shop/a")
	w.until(h, func(s *ObjectSnapshot) bool { return s.Known && s.Object == nil })
	_, err = h.Get(w.ctx)
	require.ErrorIs(t, err, api.NotFound(""))

	require.NoError(t, h.Close())
	require.NoError(t, h.Close(), "twice is fine")
	_, err = h.Get(w.ctx)
	require.ErrorIs(t, err, ErrClosed)
	for _, err := range h.Changes(w.ctx) {
		if err != nil {
			require.ErrorIs(t, err, ErrClosed)
		}
	}
}

func TestK1_K3_HandlesAreReferences(t *testing.T) {
	w := newWorld(t)
	w.put("shop/a", "Running")
	one, two := w.object("shop/a", ObjectOptions{}), w.object("shop/a", ObjectOptions{OnDemand: true})
	require.EqualValues(t, 2, w.number("objects.references"))
	require.EqualValues(t, 1, w.number("objects.watches"))
	require.NoError(t, one.Close())
	_, err := two.Get(w.ctx)
	require.NoError(t, err)
	require.False(t, two.Current().Known, "on-demand handles receive no changes")

	w.collection()
	require.EqualValues(t, 1, w.number("objects.covered"), "a collection serves it now")
	require.NoError(t, two.Close())
	require.EqualValues(t, -1, w.number("objects"))
}

func TestObjectsThatCannotBe(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.Object(w.ctx, "v1/pods", "a/b/c", ObjectOptions{})
	require.ErrorIs(t, err, api.BadRequest(""))
	require.ErrorContains(t, err, `"a/b/c"`)

	h, err := w.client.Object(w.ctx, "v1/gadgets", "a/b", ObjectOptions{})
	require.NoError(t, err)
	waiting := w.until(h, func(s *ObjectSnapshot) bool { return s.Err != nil })
	require.Equal(t, api.StateConnecting, waiting.State, "the resource may be installed later")
	require.ErrorContains(t, waiting.Err, "v1/gadgets")
	_, err = h.Get(w.ctx)
	require.ErrorIs(t, err, api.NotFound(""))
	require.NoError(t, h.Close())
}

func TestAPoisonedEngineGetsItsReferencesBack(t *testing.T) {
	w := newWorld(t)
	w.put("shop/a", "Running")
	h := w.object("shop/a", ObjectOptions{})
	gone := w.object("shop/a", ObjectOptions{})
	synced := func(s *ObjectSnapshot) bool { return s.State == api.StateLive && s.Known }
	w.until(h, synced)
	require.NoError(t, gone.Close())
	w.poison()
	rv := w.put("shop/a", "Failed")
	w.until(h, func(s *ObjectSnapshot) bool { return synced(s) && s.Object.ResourceVersion() == rv })
	require.EqualValues(t, 1, w.number("objects.references"))
	require.NoError(t, w.client.Close())
	_, err := h.Get(w.ctx)
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, h.Close())
}
