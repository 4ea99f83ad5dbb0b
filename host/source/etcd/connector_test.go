package etcd_test

import (
	"context"
	"io"
	"log/slog"
	"os"
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

// These tests run a connector on a source whose etcd stops and starts. They are not in
// host/connector, because the tests of that package run with the race detector.
// Otherwise, the race build would include etcd.

var pods = api.Resource{Version: "v1", Name: "pods"}

// An etcd that is restored from a copy of its data directory keeps its cluster ID and
// reverts to older revisions. A watch of the Kubernetes API from a revision of the lost
// history ends with 410, whether it was opened before or after the restore.
func TestWatchesOfARestoredEtcdEndWith410(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir, backup := t.TempDir(), t.TempDir()
	server, err := embedetcd.Start(embedetcd.Config{Dir: dir, UnsafeNoFsync: true})
	require.NoError(t, err)
	putPod(t, server, "one")
	require.NoError(t, server.Close())
	require.NoError(t, os.CopyFS(backup, os.DirFS(dir)))

	server, err = embedetcd.Start(embedetcd.Config{Dir: dir, UnsafeNoFsync: true})
	require.NoError(t, err)
	defer func() { server.Close() }()
	client, _, c := connect(t, server)

	listed, err := c.Backend().List(ctx, pods, kubeapi.ListOptions{})
	require.NoError(t, err)
	open := watch(t, ctx, c, listed.ResourceVersion)
	lost := putPod(t, server, "two")
	require.Equal(t, api.Added, next(t, ctx, open).Type)

	require.NoError(t, server.Close())
	server, err = embedetcd.Start(embedetcd.Config{Dir: backup, UnsafeNoFsync: true})
	require.NoError(t, err)
	client.SetEndpoints(server.Endpoints()...)

	requireExpired(t, ctx, open)
	requireExpired(t, ctx, watch(t, ctx, c, lost))
}

// connect starts a connector that reads from a server. The test may change the endpoints
// of the returned client.
func connect(t *testing.T, server *embedetcd.Server) (*clientv3.Client, *etcd.Source, *connector.Connector) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: server.Endpoints(), Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	source, err := etcd.New(client, etcd.Config{ConnectTimeout: time.Second, ProgressInterval: 500 * time.Millisecond})
	require.NoError(t, err)
	c := connector.New(connector.Config{Source: source, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	return client, source, c
}

func putPod(t *testing.T, server *embedetcd.Server, name string) api.ResourceVersion {
	t.Helper()
	response, err := server.Client().Put(t.Context(), etcd.DefaultPrefix+"/pods/default/"+name, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":"`+name+`"}}`)
	require.NoError(t, err)
	return api.ResourceVersion(response.Header.Revision)
}

func watch(t *testing.T, ctx context.Context, c *connector.Connector, from api.ResourceVersion) kubeapi.Watch {
	t.Helper()
	w, err := c.Backend().Watch(ctx, pods, kubeapi.WatchOptions{ResourceVersion: from.String()})
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

func next(t *testing.T, ctx context.Context, w kubeapi.Watch) kubeapi.Event {
	t.Helper()
	events, err := w.Next(ctx)
	require.NoError(t, err)
	require.Len(t, events, 1)
	return events[0]
}

func requireExpired(t *testing.T, ctx context.Context, w kubeapi.Watch) {
	t.Helper()
	_, err := w.Next(ctx)
	require.NotErrorIs(t, err, io.EOF, "the watch ended in order: its client would resume from a lost version")
	require.ErrorIs(t, err, api.Expired(""))
}

// While etcd is stopped, the connector serves its state as stale. When etcd is back, the
// open watch continues and the collection becomes current again.
func TestConnectorContinuesAfterAnEtcdOutage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	server, err := embedetcd.Start(embedetcd.Config{Dir: dir, UnsafeNoFsync: true})
	require.NoError(t, err)
	defer func() { server.Close() }()
	putPod(t, server, "one")
	client, source, c := connect(t, server)
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
	putPod(t, server, "two")
	event := next(t, ctx, open)
	assert.Equal(t, api.Added, event.Type)
	untilReason(t, ctx, c, func(reason string) bool { return reason == "" })
	require.NoError(t, source.Ready(ctx))
}

// untilReason waits until the function wanted accepts the reason why the only collection
// is stale. The reason is empty if the collection is current.
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
