package etcd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/connectivity"

	"github.com/watchglass/watchglass/host/source/etcd"
)

// through returns a source whose client reaches etcd only through hole, and that client.
// The request timeout is an hour, so that only the connect timeout can end a request.
func through(t *testing.T, hole *blackhole) (*etcd.Source, *clientv3.Client) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{hole.Addr().String()}, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	config := fresh()
	config.RequestTimeout, config.ConnectTimeout = time.Hour, 200*time.Millisecond
	src, err := etcd.New(client, config)
	require.NoError(t, err)
	return src, client
}

const cannotConnect = "cannot connect: check that etcd listens on this address, and whether it requires TLS"

// If etcd is unreachable, a list fails without waiting for the request timeout, by default
// half a minute.
func TestUnreachableServerIsReportedBeforeRequestTimeout(t *testing.T) {
	hole := newBlackhole(t)
	hole.close()
	src, _ := through(t, hole)
	err := src.Stream(t.Context(), configMaps, 0, &sink{})
	require.ErrorContains(t, err, cannotConnect)
}

func TestConnectionLostDuringListIsReportedBeforeRequestTimeout(t *testing.T) {
	hole := newBlackhole(t)
	src, _ := through(t, hole)
	require.NoError(t, src.Ready(t.Context()))
	hole.close()
	_, err := src.ClusterID(t.Context())
	require.ErrorContains(t, err, cannotConnect)
}

func TestAConnectionLostBeforeTheWatchEndsTheStream(t *testing.T) {
	hole := newBlackhole(t)
	src, client := through(t, hole)
	err := src.Stream(t.Context(), configMaps, 0, &sink{endList: func() error {
		hole.close()
		client.ActiveConnection().WaitForStateChange(t.Context(), connectivity.Ready)
		return nil
	}})
	require.ErrorContains(t, err, "watch of")
}
