// Package workerdtest runs the Durable Objects of the npm package for tests.
package workerdtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/workerd"
)

// Grant is what the objects take for a token: it says itself what it grants,
// which is everything.
const Grant = `{"resources":["*"],"namespaces":["*"],"expires":4000000000,"cluster":"test","user":"test","feed":true}`

// Objects runs them until the test ends, from the package that is built in the
// checkout at root. They are reached at /NAME/… of the address.
func Objects(t *testing.T, root string) (address string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs workerd")
	}
	_, err := os.Stat(filepath.Join(root, "js/dist/edge.js"))
	require.NoError(t, err, `build the npm package first: "make js"`)
	binary, err := workerd.Find(root)
	require.NoError(t, err)
	process, err := workerd.Start(context.Background(), workerd.Config{
		Binary: binary, Path: filepath.Join(root, "js/test/edge/config.capnp"), Flags: []string{"--directory-path=objects=" + t.TempDir()},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		if complaint := process.Stop(); t.Failed() {
			t.Log(complaint)
		}
	})
	return process.Address()
}
