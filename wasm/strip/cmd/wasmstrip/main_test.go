package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is a module with one byte of data. It does not name a Go release.
var small = []byte("\x00asm\x01\x00\x00\x00\x0b\x07\x01\x00\x41\x00\x0b\x01\xff")

func TestUnknownModuleIsCopiedWithOneLineOfWarning(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "linked.wasm"), filepath.Join(t.TempDir(), "small.wasm")
	require.NoError(t, os.WriteFile(from, small, 0o600))
	var stderr bytes.Buffer
	require.Zero(t, run([]string{from, to}, &stderr))
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
	require.Contains(t, stderr.String(), "wasmstrip: warning: the runtime tables of an unknown release are not recognized")
	copied, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, small, copied)
}

func TestFileThatIsNotAModuleStopsTheBuild(t *testing.T) {
	from := filepath.Join(t.TempDir(), "linked.wasm")
	require.NoError(t, os.WriteFile(from, []byte("no module"), 0o600))
	var stderr bytes.Buffer
	require.Equal(t, 1, run([]string{from, from}, &stderr))
	require.Contains(t, stderr.String(), "linked.wasm: not a WebAssembly module of version 1")
	require.Equal(t, 2, run(nil, &stderr))
	require.Equal(t, 2, run([]string{"-gest", from, from}, &stderr))
	require.Contains(t, stderr.String(), "usage: ")
}
