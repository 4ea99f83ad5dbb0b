//go:build refdebug

package objcache

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func mount(w *world)  { w.add(secret("a"), "pod") }
func forget(w *world) { w.add(secret("a"), "pod") }

func TestRefdebugReportsTheOwnerOfEachReference(t *testing.T) {
	require.True(t, Debug)
	w := newWorld(t, Config{})
	mount(w)
	w.tick(500)
	forget(w)

	holders := w.cache.Holders()
	require.Len(t, holders, 1)
	require.Equal(t, 2, holders[0].Count)
	require.Len(t, holders[0].Taken, 2)
	require.Regexp(t, `^at 1000000ms\n\t[^\n]*objcache\.\(\*world\)\.add [^\n]*\n\t[^\n]*objcache\.mount `, holders[0].Taken[0])
	require.Regexp(t, `^at 1000500ms\n\t[^\n]*\n\t[^\n]*objcache\.forget `, holders[0].Taken[1])

	w.cache.Remove(secret("a"), "pod")
	require.Len(t, w.cache.Holders()[0].Taken, 1)
	w.cache.Remove(secret("a"), "pod")
	require.Empty(t, w.cache.Holders())
}
