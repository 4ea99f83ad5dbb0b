package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// counted is a connection that fails once this connection and the previous ones have
// received more than limit bytes in total.
type counted struct {
	Conn
	received *atomic.Int64
	limit    int64
}

func (c counted) Read(ctx context.Context) ([]byte, error) {
	message, err := c.Conn.Read(ctx)
	if err == nil && c.received.Add(int64(len(message))) > c.limit {
		return nil, errors.New("the network is gone")
	}
	return message, err
}

// If the connection is lost while a first sync receives rows, the connector resends only
// the lost message, not the rows before it.
func TestB38_FirstSyncContinuesAfterACut(t *testing.T) {
	w := newWorld(t)
	const objects = 10_000
	for i := range objects {
		w.put(api.NewKey(fmt.Sprintf("ns-%02d", i%40), fmt.Sprintf("pod-%05d", i)), "Running")
	}
	sync := func(limits ...int64) (bytes int64) {
		received, dials := &atomic.Int64{}, 0
		client, err := Open(w.ctx, Config{Module: testModule(t), CacheDir: cacheDir(t), Dial: func(ctx context.Context) (Conn, error) {
			conn, err := w.dial(ctx)
			limit := limits[min(dials, len(limits)-1)]
			dials++
			return counted{conn, received, limit}, err
		}})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		c, err := client.Collection(w.ctx, "v1/pods", CollectionOptions{MetadataOnly: true})
		require.NoError(t, err)
		require.NoError(t, c.WaitForSync(w.ctx))
		list, err := c.List(w.ctx, ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, objects)
		require.Equal(t, len(limits), dials)
		return received.Load()
	}
	const unlimited = 1 << 40
	whole := sync(unlimited)
	assert.InEpsilon(t, whole, sync(whole*9/10, unlimited), 0.3)
}
