package owners_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/owners"
	"github.com/watchglass/watchglass/core/store"
)

func TestIDsOfAUID(t *testing.T) {
	m := owners.IDs{}
	require.True(t, m.Add("u", 7))
	require.False(t, m.Add("u", 3))
	require.False(t, m.Add("u", 5))
	require.False(t, m.Remove("u", 4))
	require.False(t, m.Remove("v", 4))
	require.Equal(t, []store.ID{3, 5, 7}, m["u"])
	require.False(t, m.Remove("u", 3))
	require.False(t, m.Remove("u", 7))
	require.True(t, m.Remove("u", 5))
	require.Empty(t, m)
}

// IDs copies each UID, because a UID may alias the arena, whose memory is reused.
func TestIDsKeepNoTemporaryText(t *testing.T) {
	uid := []byte("u1")
	temporary := unsafe.String(&uid[0], len(uid))
	added, removed := owners.IDs{}, owners.IDs{}
	for id := range store.ID(3) {
		added.Add(temporary, id)
		removed.Add("u1", id)
	}
	removed.Remove(temporary, 1)
	uid[1] = '2'
	require.Equal(t, []store.ID{0, 1, 2}, added["u1"])
	require.Equal(t, []store.ID{0, 2}, removed["u1"])
}
