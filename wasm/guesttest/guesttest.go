// Package guesttest builds the module of wasm/guest for tests.
package guesttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/watchglass/watchglass/wasm/strip"
)

// Fault is the frame that makes the module returned by [Faulty] panic.
var Fault = []byte("\xff\x00")

// Build returns the module of this source tree as the Makefile builds it. It builds the
// module once per process.
var Build = sync.OnceValues(func() ([]byte, error) { return build() })

// Faulty returns the module built with the tag guestfault, which panics on [Fault]. It
// builds the module once per process.
var Faulty = sync.OnceValues(func() ([]byte, error) { return build("-tags=guestfault") })

func build(flags ...string) ([]byte, error) {
	root, err := sourceTree()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "watchglass-guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "guest.wasm")
	// The flags are those of the Makefile, so that both builds share compiled packages.
	args := append([]string{"build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", path}, flags...)
	command := exec.Command("go", append(args, "./wasm/guest")...)
	command.Dir = root
	command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build wasm/guest: %w: %s", err, text)
	}
	if _, err := strip.File(path, path, strip.GuestFunctions...); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// cacheAge is the time that a compiled module stays in the cache after it was written.
const cacheAge = 24 * time.Hour

// CacheDir returns the directory in which wazero caches compiled machine code. All tests
// of a source tree share it, so that a module is compiled only once. Under the race
// detector, compiling takes ten times as long.
var CacheDir = sync.OnceValues(func() (string, error) {
	root, err := sourceTree()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "build", "wazero")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, removeOld(dir, time.Now().Add(-cacheAge))
})

// removeOld removes the files below dir that were last modified before limit.
func removeOld(dir string, limit time.Time) error {
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		info, err := entry.Info()
		if err != nil || info.IsDir() || info.ModTime().After(limit) {
			return ignoreMissing(err)
		}
		return ignoreMissing(os.Remove(path))
	})
}

// ignoreMissing returns nil for an error that reports a missing file, because another
// test process may have removed it.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// sourceTree returns the directory with this project's go.mod. It searches upward from
// the working directory, which may be in a nested module.
func sourceTree() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/watchglass/watchglass\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in the source tree of watchglass", start)
		}
	}
}
