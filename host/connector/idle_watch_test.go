package connector_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source/memory"
)

// heapOf returns the size of the reachable heap in bytes.
func heapOf() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the second run frees the contents of pools
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// An idle watch does not retain the memory of its initial events. Informers keep such
// watches open for a long time.
func TestIdleWatchReleasesItsInitialEvents(t *testing.T) {
	const objects, watches, most = 5000, 20, 4 << 10
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	source := memory.New()
	for i := range objects {
		name := fmt.Sprintf("pod-%05d", i)
		source.Put(pods, key(name), pod(name, "Running"))
	}
	c := connector.New(connector.Config{
		Source: source, Logger: slog.New(slog.DiscardHandler),
		Limits: limit.NewSet().With(limit.ListTimeout, int64(5*time.Minute)), // the race detector on a busy machine is slow
	})
	defer func() { assert.NoError(t, c.Close(context.Background())) }()
	open := func() kubeapi.Watch {
		w, err := c.Backend().Watch(ctx, pods, kubeapi.WatchOptions{ResourceVersion: "0", SendInitialEvents: api.True, Bookmarks: true, Match: api.MatchNotOlderThan})
		require.NoError(t, err)
		for initial, n := true, 0; initial; {
			events, err := w.Next(ctx)
			require.NoError(t, err)
			n += len(events)
			if initial = !events[len(events)-1].InitialEventsEnd; !initial {
				require.Equal(t, objects+1, n)
			}
		}
		return w
	}
	defer open().Close() // creates the collection
	before := heapOf()
	var all []kubeapi.Watch
	for range watches {
		all = append(all, open())
	}
	held := (heapOf() - before) / watches
	for _, w := range all {
		w.Close()
	}
	assert.Less(t, held, int64(most), "bytes of each watch")
}
