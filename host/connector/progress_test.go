package connector_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// elsewhere changes a node, and returns the version of the change. The stream of pods
// receives this version only after a request for progress.
func (w *world) elsewhere() api.ResourceVersion {
	return w.source.Put(api.Resource{Version: "v1", Name: "nodes"}, "n1", []byte(`{"metadata":{"name":"n1"}}`))
}

func TestC35_ProgressIsRequestedWhileAReaderWaits(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(3)
		r, s := w.synced()
		last := w.elsewhere()
		require.NoError(t, r.Send(t.Context(), &wire.RequestProgress{Subscription: s.ID}))
		begun := time.Now()
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.Less(t, time.Since(begun), time.Second) // virtual time; the session's own interval is longer
	})
}

func TestC35_ProgressIsRequestedUntilTheVersionArrives(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(3)
		backend := w.connector.Backend()
		list := func(rv api.ResourceVersion) (*kubeapi.List, error) {
			return backend.List(t.Context(), pods, kubeapi.ListOptions{ResourceVersion: rv.String(), Match: api.MatchNotOlderThan})
		}
		begun := time.Now()
		found, err := list(w.elsewhere())
		require.NoError(t, err)
		assert.Equal(t, w.source.Revision(), found.ResourceVersion)

		next := w.source.Revision() + 1
		time.AfterFunc(2*time.Second, func() { w.elsewhere() }) // after some requests for progress that report no newer version
		found, err = list(next)
		require.NoError(t, err)
		assert.Equal(t, next, found.ResourceVersion)
		assert.Less(t, time.Since(begun), 2500*time.Millisecond)

		_, err = list(next + 1)
		assert.ErrorIs(t, err, api.TooLargeResourceVersion(0, 0))
	})
}
