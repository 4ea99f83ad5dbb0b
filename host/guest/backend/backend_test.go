package backend_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/guest"
	"github.com/watchglass/watchglass/host/guest/backend"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/kubeapi/kubeapitest"
	"github.com/watchglass/watchglass/host/source/memory"
	"github.com/watchglass/watchglass/wasm/strip"
)

func TestBackend(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds the wasm module first")
	}
	dir := t.TempDir()
	module := build(t, dir)
	kubeapitest.Run(t, func(t *testing.T, memory *memory.Source) kubeapi.Backend {
		dial := serve(t, memory)
		client, err := guest.Open(t.Context(), guest.Config{Module: module, CacheDir: dir, Dial: dial})
		require.NoError(t, err)
		b := backend.New(client, catalog.All())
		t.Cleanup(func() {
			require.NoError(t, b.Close())
			require.NoError(t, client.Close())
		})
		return b
	})
}

// build builds the module of this source tree, and leaves it compiled in dir.
func build(t *testing.T, dir string) []byte {
	t.Helper()
	path := filepath.Join(dir, "guest.wasm")
	command := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", path, "../../../wasm/guest")
	command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	text, err := command.CombinedOutput()
	require.NoError(t, err, string(text))
	_, err = strip.File(path, path)
	require.NoError(t, err)
	module, err := os.ReadFile(path)
	require.NoError(t, err)
	compiled, err := guest.Compile(t.Context(), module, dir)
	require.NoError(t, err)
	require.NoError(t, compiled.Close(t.Context()))
	return module
}

// serve runs a connector, and returns how to connect to it.
func serve(t *testing.T, source *memory.Source) func(context.Context) (guest.Conn, error) {
	c := connector.New(connector.Config{Source: source})
	var served sync.WaitGroup
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, c.Close(ctx))
		served.Wait()
	})
	return func(context.Context) (guest.Conn, error) {
		there, here := connectortest.Pipe()
		served.Go(func() { _ = c.Serve(context.Background(), there) })
		return pipe{here}, nil
	}
}

type pipe struct{ *connectortest.End }

func (p pipe) Close(reason string) error { return p.End.Close(errors.New(reason)) }
