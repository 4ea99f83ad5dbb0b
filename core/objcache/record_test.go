//go:build !refdebug

package objcache

import (
	"os/exec"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestRecordFieldsHaveNoPadding(t *testing.T) {
	require.False(t, Debug)
	require.Zero(t, unsafe.Sizeof(record{}))
	w := newWorld(t, Config{})
	w.add(secret("a"), "pod")
	require.Equal(t, []Holder{{ID: secret("a"), Owner: "pod", Count: 1}}, w.cache.Holders())
}

// TestWithRefdebug runs the tests of this package in the build that records references.
func TestWithRefdebug(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds the package again and runs all its tests")
	}
	out, err := exec.Command("go", "test", "-count=1", "-tags", "refdebug", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
