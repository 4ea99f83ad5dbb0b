package main

import (
	"bufio"
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/memory"
)

func TestPrintsEveryChange(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles the wasm module")
	}
	_, err := client.EmbeddedModule()
	require.NoError(t, err)
	pods := api.Resource{Version: "v1", Name: "pods"}
	cluster := memory.New()
	pod := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"shop","uid":"u"}}`)
	cluster.Put(pods, "shop/web-0", pod)

	c := connector.New(connector.Config{Source: cluster})
	handler, err := server.New(server.Config{Connector: c})
	require.NoError(t, err)
	http := httptest.NewServer(handler)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	output, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, "ws"+strings.TrimPrefix(http.URL, "http")+"/watch", in)
		in.CloseWithError(err)
		ended <- err
	}()
	lines := bufio.NewScanner(output)
	expect := func(want string) {
		t.Helper()
		require.True(t, lines.Scan(), "output ended: %v", lines.Err())
		require.Equal(t, want, lines.Text())
	}
	expect("ADDED shop/web-0 at 2")
	cluster.Put(pods, "shop/web-0", pod)
	expect("MODIFIED shop/web-0 at 3")
	cluster.Delete(pods, "shop/web-0")
	expect("DELETED shop/web-0 at 4")

	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, c.Close(context.Background()))
	http.Close()
}
