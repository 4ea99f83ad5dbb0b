package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// storage persists a collection as a program would.
type storage struct {
	chunks [][]byte
	at     Position
}

func (s *storage) save(ctx context.Context, c *Collection, chunkBytes uint32) error {
	var fresh [][]byte
	for chunk, err := range c.Snapshot(ctx, SnapshotOptions{Since: s.at, ChunkBytes: chunkBytes}) {
		if err != nil {
			return err
		}
		fresh = append(fresh, chunk.Data)
		if !chunk.Last {
			continue
		}
		if chunk.Whole {
			s.chunks = nil
		}
		s.chunks, s.at = append(s.chunks, fresh...), chunk.Position
	}
	return nil
}

// A program restores a collection that another program persisted. The objects are
// available immediately and without a connection. Once connected, the collection resumes
// from the restored version.
func TestR7_SnapshotAndRestore(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.put(api.Key(fmt.Sprintf("default/p%02d", i)), "Running")
	}
	pods := w.collection()
	var disk storage
	require.NoError(t, disk.save(w.ctx, pods, 2000))
	require.Greater(t, len(disk.chunks), 1)
	whole := len(disk.chunks)
	rv := w.put("default/p07", "Failed")
	w.reach(pods, func(s Status) bool { return s.ResourceVersion >= rv })
	// The dictionary and the object share a chunk of this size.
	require.NoError(t, disk.save(w.ctx, pods, 16<<10))
	require.Len(t, disk.chunks, whole+1, "an increment is small")
	require.Equal(t, rv, disk.at.ResourceVersion)
	require.NoError(t, w.client.Close())

	w.cut(true)
	w.client = w.open(Config{})
	pods, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{Restore: slices.Values(disk.chunks)})
	require.NoError(t, err)
	require.NoError(t, pods.RestoreError())
	status := pods.Status()
	require.Equal(t, api.StateReconnecting, status.State)
	require.EqualValues(t, 30, status.Objects)
	require.False(t, status.LastProgress.IsZero())
	require.Equal(t, "Pod", pods.Schema().Kind)
	object, err := pods.Get(w.ctx, "default/p07")
	require.NoError(t, err)
	require.Contains(t, string(object.JSON()), `"Failed"`)
	list, err := pods.List(w.ctx, ListOptions{ResourceVersion: "0"})
	require.NoError(t, err)
	require.Len(t, list.Items, 30)

	rv = w.put("default/p30", "Running")
	w.cut(false)
	require.NoError(t, w.client.Reconnect(w.ctx))
	w.reach(pods, func(s Status) bool { return s.State == api.StateLive && s.ResourceVersion >= rv && s.Objects == 31 })
	numbers, err := w.client.Inspect(w.ctx)
	require.NoError(t, err)
	require.Contains(t, numbers, Number{fmt.Sprintf("collection.%d.relists", pods.id), 0})
	require.Contains(t, numbers, Number{fmt.Sprintf("collection.%d.resumes", pods.id), 1})
}

func TestRestoreOfCorruptState(t *testing.T) {
	w := newWorld(t)
	w.put("default/a", "Running")
	var disk storage
	require.NoError(t, disk.save(w.ctx, w.collection(), 1))
	restored := func(opts CollectionOptions) *Collection {
		client := w.open(Config{})
		c, err := client.Collection(w.ctx, "v1/pods", opts)
		require.NoError(t, err)
		require.NoError(t, c.WaitForSync(w.ctx))
		require.EqualValues(t, 1, c.Status().Objects)
		return c
	}
	spoilt := slices.Clone(disk.chunks)
	spoilt[1] = slices.Clone(spoilt[1])
	spoilt[1][len(spoilt[1])/2] ^= 1
	require.ErrorContains(t, restored(CollectionOptions{Restore: slices.Values(spoilt)}).RestoreError(), "corrupt")
	require.ErrorContains(t, restored(CollectionOptions{Restore: slices.Values(disk.chunks[:2])}).RestoreError(), "the last chunk of a snapshot is missing")
	require.ErrorContains(t, restored(CollectionOptions{Namespace: "default", Restore: slices.Values(disk.chunks)}).RestoreError(), "of v1/pods namespace=default")
	require.Error(t, restored(CollectionOptions{Restore: slices.Values([][]byte{make([]byte, 32<<20)})}).RestoreError())
	require.NoError(t, restored(CollectionOptions{Restore: slices.Values([][]byte(nil))}).RestoreError(), "nothing was stored")
}

func TestSnapshotThatFails(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.put(api.Key(fmt.Sprintf("default/p%d", i)), "Running")
	}
	w.cut(true)
	early, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{MetadataOnly: true})
	require.NoError(t, err)
	var disk storage
	require.ErrorContains(t, disk.save(w.ctx, early, 0), "no state yet")
	w.cut(false)
	require.NoError(t, w.client.Reconnect(w.ctx))

	pods := w.collection()
	for chunk, err := range pods.Snapshot(w.ctx, SnapshotOptions{ChunkBytes: 1}) {
		require.NoError(t, err)
		require.False(t, chunk.Last)
		break
	}
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	n := 0
	for _, err := range pods.Snapshot(ctx, SnapshotOptions{ChunkBytes: 1}) {
		if n++; n == 2 {
			require.ErrorIs(t, err, context.Canceled)
			continue
		}
		cancel()
	}
	numbers, err := w.client.Inspect(w.ctx)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(numbers, func(n Number) bool { return n.Name == "snapshots" }), "none is left behind")

	// The engine fails between two chunks, and the new engine does not know the
	// request.
	for _, err = range pods.Snapshot(w.ctx, SnapshotOptions{ChunkBytes: 1}) {
		if err == nil {
			w.poison()
			require.NoError(t, pods.WaitForSync(w.ctx))
		}
	}
	require.Error(t, err)
	require.NoError(t, w.client.Close())
	for _, err = range pods.Snapshot(w.ctx, SnapshotOptions{}) {
	}
	require.True(t, errors.Is(err, ErrClosed))
}
