package workerdtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The check refuses an npm package that is older than its sources, because the package may
// implement another version of the protocol.
func TestOldPackageIsRefused(t *testing.T) {
	root := t.TempDir()
	now := time.Now()
	write := func(name string, age time.Duration) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chtimes(path, now, now.Add(-age)))
	}
	write("core/wire/hello.go", 3*time.Hour)
	write("wasm/guest/main.go", 3*time.Hour)
	write("js/src/index.ts", 3*time.Hour)
	require.ErrorContains(t, built(root), `build the npm package first: "make js"`)
	write("js/dist/edge.js", 2*time.Hour)
	require.NoError(t, built(root))
	for _, other := range []string{"core/wire/hello_test.go", "core/wire/PROTOCOL.md", "core/sim/mutants/hello.mutant", "core/wire/testdata/hello.json"} {
		write(other, time.Hour)
		require.NoError(t, built(root), "the package does not contain %s", other)
	}
	for _, source := range []string{"core/wire/hello.go", "wasm/guest/main.go", "js/src/index.ts"} {
		write(source, time.Hour)
		require.ErrorContains(t, built(root), source+` is newer than the npm package in js/dist: rebuild it with "make js"`)
		write(source, 3*time.Hour)
	}
}
