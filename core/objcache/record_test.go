//go:build !refdebug

package objcache

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestRecordsTakeNoRoom(t *testing.T) {
	require.False(t, Debug)
	require.Zero(t, unsafe.Sizeof(record{}))
	w := newWorld(t, Config{})
	w.add(secret("a"), "pod")
	require.Equal(t, []Holder{{ID: secret("a"), Owner: "pod", Count: 1}}, w.cache.Holders())
}
