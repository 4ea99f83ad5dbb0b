package connector_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

// lossy is a source that drops the changes to some objects. Its lists contain the changed
// objects.
type lossy struct {
	*memory.Source
	lost []api.Key
}

func (l *lossy) Stream(ctx context.Context, r api.Resource, from api.ResourceVersion, s source.Sink) error {
	return l.Source.Stream(ctx, r, from, lossySink{s, l})
}

type lossySink struct {
	source.Sink
	*lossy
}

func (s lossySink) Changes(changes []source.Change) error {
	kept := slices.DeleteFunc(slices.Clone(changes), func(c source.Change) bool { return slices.Contains(s.lost, c.Key) })
	if len(kept) == 0 {
		return nil
	}
	return s.Sink.Changes(kept)
}

// relist makes the connector list again.
func (w *world) relist() {
	require.NoError(w.t, w.source.Compact(w.source.Revision()))
	w.source.Fail(api.Expired("compacted"))
	time.Sleep(time.Minute)
	synctest.Wait()
}

func TestAListThatContradictsTheCacheIsCounted(t *testing.T) {
	l := &lossy{memory.New(), []api.Key{key("added"), key("pod-00001")}}
	var log bytes.Buffer
	run(t, connector.Config{Source: l, Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, w *world) {
		w.source = l.Source
		w.fill(3)
		release, err := w.connector.Hold(t.Context(), pods)
		require.NoError(t, err)
		defer release()
		w.put("added")
		w.put("pod-00001")
		w.put("pod-00002")
		synctest.Wait()
		require.Equal(t, w.source.Revision(), w.connector.Stats().Resources[0].ResourceVersion)
		w.relist()
		stats := w.connector.Stats()
		assert.EqualValues(t, 2, stats.Counted[pods].Lists)
		assert.EqualValues(t, 2, stats.Counted[pods].Diverged)
		assert.Equal(t, 4, stats.Resources[0].Objects, "the list corrects the cache")
		assert.Contains(t, log.String(), `level=ERROR msg="the cache differed from a list of the source, which has replaced it" resource=v1/pods objects=2`)
		w.relist()
		assert.EqualValues(t, 2, w.connector.Stats().Counted[pods].Diverged, "once")
	})
}

// A list after an outage contains changes that the connector has not received. These
// changes do not count as divergence, nor do objects that cannot be served or that belong
// to another history.
func TestMissedChangesAreNoDivergence(t *testing.T) {
	o := &outage{}
	runOutage(t, o, func(t *testing.T, w *world) {
		release, err := w.connector.Hold(t.Context(), pods)
		require.NoError(t, err)
		defer release()
		w.source.Put(pods, key("unreadable"), []byte("{"))
		w.put("pod-00001")
		synctest.Wait()
		o.goAway()
		w.put("added")
		w.put("pod-00002")
		w.source.Delete(pods, key("pod-00003"))
		require.NoError(t, w.source.Compact(w.source.Revision()))
		time.AfterFunc(time.Minute, func() { o.away.Store(false) })
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		stats := w.connector.Stats()
		assert.EqualValues(t, 2, stats.Counted[pods].Lists)
		assert.Equal(t, w.source.Revision(), stats.Resources[0].ResourceVersion)
		assert.Zero(t, stats.Counted[pods].Diverged)
	})
}

func TestStatsCountSubscriptionsAndTheHistory(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(3)
		r, s := w.synced()
		other := w.subscribe(r, wire.Subscribe{Subscription: 2, Namespace: "elsewhere"})
		require.NoError(t, r.UntilSynced(t.Context(), other))
		second, _ := w.synced()
		last := w.put("added")
		w.until(r, func() bool { return s.ResourceVersion == last })
		stats := w.connector.Stats().Resources[0]
		assert.Equal(t, []int{2, 3, 1}, []int{stats.Readers, stats.Subscriptions, stats.History})
		require.NoError(t, second.Conn.Close(nil))
		synctest.Wait()
		stats = w.connector.Stats().Resources[0]
		assert.Equal(t, []int{1, 2}, []int{stats.Readers, stats.Subscriptions})
	})
}
