// Package rig runs the module in wazero with a connector, for tests.
package rig

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/wasm/guesttest"
)

// Guest starts a connector, and a client that runs the module and reads from this
// connector. Both are closed when the test ends.
func Guest(t testing.TB, config connector.Config) *client.Client {
	t.Helper()
	c := connector.New(config)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
	return Client(t, c)
}

// Client returns a client that runs the module and reads from a connector. The client is
// closed when the test ends.
func Client(t testing.TB, c *connector.Connector) *client.Client {
	t.Helper()
	var served sync.WaitGroup
	t.Cleanup(served.Wait)
	client, err := client.Open(t.Context(), client.Config{Module: Module(t), CacheDir: cacheDir(t), Dial: func(context.Context) (client.Conn, error) {
		there, here := connectortest.Pipe()
		served.Go(func() { _ = c.Serve(context.Background(), there) }) // Serve returns when either end closes
		return pipe{here}, nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

type pipe struct{ *connectortest.End }

func (p pipe) Close(reason string) error { return p.End.Close(errors.New(reason)) }

// Module returns the module of this source tree.
func Module(t testing.TB) []byte {
	t.Helper()
	module, err := guesttest.Build()
	require.NoError(t, err)
	return module
}

func cacheDir(t testing.TB) string {
	t.Helper()
	dir, err := guesttest.CacheDir()
	require.NoError(t, err)
	return dir
}
