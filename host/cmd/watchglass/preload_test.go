package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

// closedSource is a source that delivers no data until it is opened.
type closedSource struct {
	*memory.Source
	opened chan struct{}
}

func (c closedSource) Stream(ctx context.Context, r api.Resource, from api.ResourceVersion, s source.Sink) error {
	select {
	case <-c.opened:
		return c.Source.Stream(ctx, r, from, s)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Both addresses report that the server is ready only after the resources of --preload
// are cached.
func TestServerIsReadyOnceResourcesArePreloaded(t *testing.T) {
	src := closedSource{memory.New(), make(chan struct{})}
	var l listeners
	for _, to := range []*net.Listener{&l.main, &l.kubeAPI} {
		var err error
		*to, err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
	}
	defer l.Close()
	quiet := slog.New(slog.DiscardHandler)
	h, err := newHost(&hostFlags{limits: limit.NewSet()}, l, files{}, "a test", connector.Config{
		Source: src, Logger: quiet, Limits: limit.NewSet(), Preload: []api.Resource{{Version: "v1", Name: "pods"}},
	}, server.Config{Logger: quiet})
	require.NoError(t, err)
	defer h.connector.Close(t.Context())
	ready := func(handler http.Handler) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/readyz", nil))
		return w
	}
	assert.Equal(t, http.StatusServiceUnavailable, ready(h.server).Code)
	assert.Equal(t, "not ready: resources are being loaded\n", ready(h.server).Body.String())
	assert.Equal(t, "not ready: resources are being loaded: v1/pods: the first list is not complete\n", ready(h.server.Private()).Body.String())
	assert.Equal(t, http.StatusInternalServerError, ready(h.kubeAPI.handler).Code)
	close(src.opened)
	eventually(t, func() bool { return h.connector.Preloaded() == nil })
	assert.Equal(t, http.StatusOK, ready(h.server).Code)
	assert.Equal(t, http.StatusOK, ready(h.kubeAPI.handler).Code)
}
