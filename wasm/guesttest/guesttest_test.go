package guesttest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSourceTreeIsFoundFromAFolderInIt(t *testing.T) {
	root, err := sourceTree()
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "wasm", "guesttest", "guesttest_test.go"))
	t.Chdir(filepath.Join(root, "host", "conformance")) // a separate module
	again, err := sourceTree()
	require.NoError(t, err)
	require.Equal(t, root, again)
	t.Chdir(t.TempDir())
	_, err = sourceTree()
	require.ErrorContains(t, err, "is not in the source tree of watchglass")
}

func TestCacheRemovesOldFiles(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "new": 23 * time.Hour} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chtimes(path, now, now.Add(-age)))
	}
	require.NoError(t, removeOld(dir, now.Add(-cacheAge)))
	require.NoFileExists(t, filepath.Join(dir, "old"))
	require.FileExists(t, filepath.Join(dir, "new"))
	require.NoError(t, removeOld(filepath.Join(dir, "missing"), now), "another process can have removed it")
}
