// Package workerdtest runs the Durable Objects of the npm package for tests.
package workerdtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/workerd"
)

// Grant and FeedGrant are tokens for the test objects, which accept unsigned claims as
// plain text. Grant permits reading everything, and FeedGrant permits a connector to feed
// an object.
const (
	Grant     = `{"resources":["*"],"namespaces":["*"],"expires":4000000000,"cluster":"test","user":"test"}`
	FeedGrant = `{"resources":["*"],"namespaces":["*"],"expires":4000000000,"cluster":"test","user":"test","feed":true}`
)

// Objects runs the Durable Objects of the npm package that is built in the checkout at
// root, until the test ends. The URL of an object begins with /NAME/ at the returned
// address.
func Objects(t *testing.T, root string) (address string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: runs workerd")
	}
	require.NoError(t, built(root))
	binary, err := workerd.Find(root)
	require.NoError(t, err)
	process, err := workerd.Start(context.Background(), workerd.Config{
		Binary: binary, Path: filepath.Join(root, "js/test/edge/config.capnp"), Flags: []string{"--experimental", "--directory-path=objects=" + t.TempDir()},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		if complaint := process.Stop(); t.Failed() {
			t.Log(complaint)
		}
	})
	return process.Address()
}

// built returns an error if the npm package in js/dist is missing or older than its
// sources. An older package may not support the current version of the protocol, and its objects
// would then not respond. The sources are the Go files of the module, and all files of js/src.
func built(root string) error {
	dist, err := os.Stat(filepath.Join(root, "js/dist/edge.js"))
	if err != nil {
		return fmt.Errorf(`%w: build the npm package first: "make js"`, err)
	}
	for _, dir := range []string{"core", "wasm/guest", "js/src"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || dir != "js/src" && filepath.Ext(path) != ".go" {
				return err
			}
			source, err := entry.Info()
			if err == nil && source.ModTime().After(dist.ModTime()) {
				err = fmt.Errorf(`%s is newer than the npm package in js/dist: rebuild it with "make js"`, path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
