package backend_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/client/backend"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/kubeapi/kubeapitest"
	"github.com/watchglass/watchglass/host/source/memory"
	"github.com/watchglass/watchglass/wasm/guesttest"
)

func TestBackend(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds the wasm module first")
	}
	module, err := guesttest.Build()
	require.NoError(t, err)
	dir, err := guesttest.CacheDir()
	require.NoError(t, err)
	kubeapitest.Run(t, func(t *testing.T, memory *memory.Source) kubeapi.Backend {
		dial := serve(t, memory)
		c, err := client.Open(t.Context(), client.Config{Module: module, CacheDir: dir, Dial: dial})
		require.NoError(t, err)
		b := backend.New(c, catalog.All())
		t.Cleanup(func() {
			require.NoError(t, b.Close())
			require.NoError(t, c.Close())
		})
		return b
	})
}

// serve runs a connector, and returns a function that connects to it.
func serve(t *testing.T, source *memory.Source) func(context.Context) (client.Conn, error) {
	c := connector.New(connector.Config{Source: source})
	var served sync.WaitGroup
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, c.Close(ctx))
		served.Wait()
	})
	return func(context.Context) (client.Conn, error) {
		there, here := connectortest.Pipe()
		served.Go(func() { _ = c.Serve(context.Background(), there) })
		return pipe{here}, nil
	}
}

type pipe struct{ *connectortest.End }

func (p pipe) Close(reason string) error { return p.End.Close(errors.New(reason)) }
