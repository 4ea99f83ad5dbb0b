// Package rig opens the module under wazero on a connector, for the tests here.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/guest"
	"github.com/watchglass/watchglass/wasm/strip"
)

// Guest starts a connector and a client of it. Both end with the test.
func Guest(t testing.TB, config connector.Config) *guest.Client {
	t.Helper()
	c := connector.New(config)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
	return Client(t, c)
}

// Client opens the module on a connector. It is closed with the test.
func Client(t testing.TB, c *connector.Connector) *guest.Client {
	t.Helper()
	var served sync.WaitGroup
	t.Cleanup(served.Wait)
	client, err := guest.Open(t.Context(), guest.Config{Module: Module(t), Dial: func(context.Context) (guest.Conn, error) {
		there, here := connectortest.Pipe()
		served.Go(func() { _ = c.Serve(context.Background(), there) }) // it ends when either end closes
		return pipe{here}, nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

type pipe struct{ *connectortest.End }

func (p pipe) Close(reason string) error { return p.End.Close(errors.New(reason)) }

// Module is that of this source tree.
func Module(t testing.TB) []byte {
	t.Helper()
	module, err := build()
	require.NoError(t, err)
	return module
}

var build = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "watchglass")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "guest.wasm")
	command := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", path, "./wasm/guest")
	command.Dir = "../../.."
	command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	if _, err := strip.File(path, path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
