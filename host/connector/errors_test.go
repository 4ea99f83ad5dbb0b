package connector_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/limit"
)

func TestErrorsOfSubscriptionsAreCountedByCode(t *testing.T) {
	run(t, connector.Config{Limits: limit.NewSet().With(limit.MaxHistoryEvents, 10)}, func(t *testing.T, w *world) {
		w.fill(3)
		old := w.source.Revision()
		release, err := w.connector.Hold(t.Context(), pods)
		require.NoError(t, err)
		defer release()
		assert.Equal(t, map[int]uint64{410: 0}, w.connector.Stats().Errors)
		for range 500 {
			w.put("pod-00001")
		}
		synctest.Wait()
		r, s := w.synced()
		expired := w.subscribe(r, wire.Subscribe{Subscription: 2, ResourceVersion: old, ClusterID: s.ClusterID})
		w.until(r, func() bool { return expired.Status != nil })
		require.Equal(t, 410, expired.Status.Code)
		refused := w.subscribe(r, wire.Subscribe{Subscription: 3, LabelSelector: "app in ("})
		w.until(r, func() bool { return refused.Status != nil })
		require.Equal(t, 400, refused.Status.Code)
		future := w.subscribe(r, wire.Subscribe{Subscription: 4, NotOlderThan: w.source.Revision() + 100, ClusterID: s.ClusterID})
		w.until(r, func() bool { return future.Status != nil })
		require.Equal(t, 504, future.Status.Code)
		assert.Equal(t, map[int]uint64{400: 1, 410: 1, 504: 1}, w.connector.Stats().Errors)

		require.NoError(t, r.Conn.Close(nil))
		synctest.Wait()
		assert.Equal(t, map[int]uint64{400: 1, 410: 1, 504: 1}, w.connector.Stats().Errors, "a reader that leaves is no error")
	})
}
