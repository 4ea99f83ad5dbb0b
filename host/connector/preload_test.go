package connector_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

// runPreloading runs a connector that preloads pods from a source that is initially
// unavailable.
func runPreloading(t *testing.T, f func(t *testing.T, w *world, o *outage)) {
	o := &outage{Source: memory.New()}
	o.away.Store(true)
	limits := limit.NewSet().With(limit.Linger, int64(time.Minute))
	run(t, connector.Config{Source: o, Limits: limits, Preload: []api.Resource{pods}}, func(t *testing.T, w *world) {
		w.source = o.Source
		w.fill(3)
		f(t, w, o)
	})
}

// A reader of a stopped connector resumes without a snapshot at another connector, which
// preloads the resource. It is the first reader of the new connector, and the resource
// has changed in the meantime.
func TestReadersResumeFromAPreloadedResource(t *testing.T) {
	runPreloading(t, func(t *testing.T, w *world, o *outage) {
		time.Sleep(time.Minute)
		require.EqualError(t, w.connector.Preloaded(), "v1/pods: the first list is not complete")
		o.away.Store(false)
		time.Sleep(time.Minute)
		require.NoError(t, w.connector.Preloaded())
		before := w.source.Revision()
		last := w.put("added")
		time.Sleep(time.Hour)

		identity, err := w.source.ClusterID(t.Context())
		require.NoError(t, err)
		r := w.reader()
		s := w.subscribe(r, wire.Subscribe{ResourceVersion: before, ClusterID: identity})
		w.until(r, func() bool { return s.ResourceVersion == last || s.Status != nil })
		assert.Nil(t, s.Status)
		assert.Zero(t, s.Snapshots)
		assert.Equal(t, 1, s.Events)
		require.NoError(t, r.Conn.Close(nil))
		time.Sleep(time.Hour)
		assert.EqualValues(t, 1, w.connector.Stats().Counted[pods].Lists, "no linger ends it")
	})
}

// A connector without the right to a preloaded resource does not delay readiness. It
// caches the resource once the right is granted.
func TestMissingRightsDoNotDelayReadiness(t *testing.T) {
	runPreloading(t, func(t *testing.T, w *world, o *outage) {
		o.refusal.Store(api.Forbidden("the account may not watch pods"))
		o.away.Store(false)
		time.Sleep(time.Minute)
		require.NoError(t, w.connector.Preloaded())
		o.refusal.Store(nil)
		time.Sleep(10 * time.Minute)
		require.Len(t, w.connector.Stats().Resources, 1)
		assert.Equal(t, 3, w.connector.Stats().Resources[0].Objects)
	})
}

func TestAPreloadedResourceWithANewSchemaIsCachedAgain(t *testing.T) {
	runPreloading(t, func(t *testing.T, w *world, o *outage) {
		o.away.Store(false)
		time.Sleep(time.Minute)
		w.source.Fail(&source.SchemaChangedError{Resource: pods})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, w.connector.Stats().Resources, 1)
		assert.True(t, w.connector.Stats().Resources[0].Ready)
		assert.EqualValues(t, 2, w.connector.Stats().Counted[pods].Lists)
	})
}
