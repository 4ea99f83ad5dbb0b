package connector_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// While etcd is stopped, the connector serves its state as stale. When etcd is back,
// the open watch continues and the collection is current.
func TestConnectorContinuesAfterAnEtcdOutage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	server, err := embedetcd.Start(embedetcd.Config{Dir: dir, UnsafeNoFsync: true})
	require.NoError(t, err)
	defer func() { server.Close() }()
	put(t, server, "one")
	client, err := clientv3.New(clientv3.Config{Endpoints: server.Endpoints(), Logger: zap.NewNop()})
	require.NoError(t, err)
	defer client.Close()
	source, err := etcd.New(client, etcd.Config{ConnectTimeout: time.Second, ProgressInterval: 500 * time.Millisecond})
	require.NoError(t, err)
	c := connector.New(connector.Config{Source: source, Logger: slog.New(slog.DiscardHandler)})
	defer func() { assert.NoError(t, c.Close(context.Background())) }()
	require.NoError(t, c.Ready(ctx))
	listed, err := c.Backend().List(ctx, pods, kubeapi.ListOptions{})
	require.NoError(t, err)
	open := watch(t, ctx, c, listed.ResourceVersion)

	require.NoError(t, server.Close())
	untilReason(t, ctx, c, func(reason string) bool { return reason != "" })
	require.Error(t, source.Ready(ctx))
	require.NoError(t, c.Ready(ctx), "cached objects are readable")

	server, err = embedetcd.Start(embedetcd.Config{Dir: dir, UnsafeNoFsync: true})
	require.NoError(t, err)
	client.SetEndpoints(server.Endpoints()...)
	put(t, server, "two")
	event := next(t, ctx, open)
	assert.Equal(t, api.Added, event.Type)
	untilReason(t, ctx, c, func(reason string) bool { return reason == "" })
	require.NoError(t, source.Ready(ctx))
}

// untilReason waits until the only collection has a reason for being stale.
func untilReason(t *testing.T, ctx context.Context, c *connector.Connector, wanted func(reason string) bool) {
	t.Helper()
	for {
		if _, reason := c.Stats().Resources[0].Stale(); wanted(reason) {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			require.NoError(t, ctx.Err())
		}
	}
}
