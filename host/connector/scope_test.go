package connector_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// breakObjects writes an unreadable object for each key.
func (w *world) breakObjects(keys ...api.Key) {
	for _, k := range keys {
		w.source.Put(pods, k, []byte("not JSON"))
	}
}

// putAll writes a pod for each key.
func (w *world) putAll(keys ...api.Key) (last api.ResourceVersion) {
	for _, k := range keys {
		last = w.source.Put(pods, k, podIn(k, "Running"))
	}
	return last
}

// A request with a field selector on metadata.namespace needs the right to all
// namespaces, as in kube-apiserver.
func TestNamespaceFieldSelectorNeedsTheRightToAllNamespaces(t *testing.T) {
	rules := &book{rights: map[string][]string{"ann": {"v1/pods"}, "ben": {"v1/pods in namespace team-a"}}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		w.putAll("team-a/one", "team-b/two")
		selected := wire.Subscribe{FieldSelector: "metadata.namespace=team-a"}
		ben, _ := w.readerAs("ben")
		s := w.subscribe(ben, selected)
		require.NoError(t, ben.UntilSynced(t.Context(), s))
		require.NotNil(t, s.Status)
		assert.Equal(t, 403, s.Status.Code)

		ann, _ := w.readerAs("ann")
		s = w.subscribe(ann, selected)
		require.NoError(t, ann.UntilSynced(t.Context(), s))
		assert.Equal(t, []api.Key{"team-a/one"}, s.Keys())
	})
}

func TestFaultsAreReportedWithinTheAuthorizedScope(t *testing.T) {
	rules := &book{rights: map[string][]string{
		"all":  {"v1/pods"},
		"team": {"v1/pods in namespace team-a"},
		"one":  {"v1/pods one in namespace team-a"},
		"any":  {"v1/pods one"},
	}}
	run(t, connector.Config{Access: rules}, func(t *testing.T, w *world) {
		w.putAll("team-a/fine", "team-b/fine")
		w.breakObjects("team-a/one", "team-a/two", "team-b/one", "team-b/secret-project-x")
		for token, c := range map[string]struct {
			subscribe wire.Subscribe
			faults    []api.Key
		}{
			"all":  {wire.Subscribe{}, []api.Key{"team-a/one", "team-a/two", "team-b/one", "team-b/secret-project-x"}},
			"team": {wire.Subscribe{Namespace: "team-a"}, []api.Key{"team-a/one", "team-a/two"}},
			"one":  {wire.Subscribe{Namespace: "team-a", FieldSelector: "metadata.name=one"}, []api.Key{"team-a/one"}},
			"any":  {wire.Subscribe{FieldSelector: "metadata.name=one"}, []api.Key{"team-a/one", "team-b/one"}},
		} {
			r, _ := w.readerAs(token)
			s := w.subscribe(r, c.subscribe)
			require.NoError(t, r.UntilSynced(t.Context(), s))
			require.Nil(t, s.Status, token)
			assert.Equal(t, c.faults, slices.Sorted(maps.Keys(s.Faults)), token)

			list, err := w.connector.Backend().List(t.Context(), pods, kubeapi.ListOptions{
				Namespace: c.subscribe.Namespace, Selection: objects.Select("", c.subscribe.FieldSelector),
			})
			require.NoError(t, err)
			require.Len(t, list.Warnings, len(c.faults), token)
			for i, key := range c.faults {
				assert.Contains(t, list.Warnings[i], `"`+string(key)+`"`, token)
			}
		}
	})
}

// Only readers that received a fault are notified when the fault ends.
func TestFaultsAreRetractedWithinTheAuthorizedScope(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.putAll("team-a/one", "team-a/two", "team-b/two")
		r := w.reader()
		s := w.subscribe(r, wire.Subscribe{Namespace: "team-a", FieldSelector: "metadata.name=one"})
		require.NoError(t, r.UntilSynced(t.Context(), s))
		w.breakObjects("team-a/one", "team-a/two", "team-b/two")
		w.until(r, func() bool { return s.Faults["team-a/one"] != nil })
		for _, k := range []api.Key{"team-b/two", "team-a/two", "team-a/one"} {
			w.source.Delete(pods, k)
		}
		last := w.putAll("team-a/one")
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.Equal(t, []api.Key{"team-a/one"}, slices.Sorted(maps.Keys(s.Faults)), "the reader may not learn the other names")
	})
}

// The total of a snapshot is the number of objects in the authorized scope.
func TestSnapshotTotalCountsTheAuthorizedScope(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.putAll("team-a/one", "team-a/two", "team-b/one", "team-b/three", "team-c/one", "team-c/four", "team-c/five")
		for _, c := range []struct {
			subscribe wire.Subscribe
			total     uint64
		}{
			{wire.Subscribe{}, 7},
			{wire.Subscribe{LabelSelector: "app=none"}, 7},
			{wire.Subscribe{Namespace: "team-a"}, 2},
			{wire.Subscribe{Namespace: "team-c", LabelSelector: "app=none"}, 3},
			{wire.Subscribe{Namespace: "team-d"}, 0},
			{wire.Subscribe{Namespace: "team-a", FieldSelector: "metadata.name=one"}, 1},
			{wire.Subscribe{Namespace: "team-b", FieldSelector: "metadata.name=two"}, 0},
			{wire.Subscribe{FieldSelector: "metadata.name=one"}, 3},
		} {
			r := w.reader()
			s := w.subscribe(r, c.subscribe)
			require.NoError(t, r.UntilSynced(t.Context(), s))
			assert.Equal(t, c.total, s.Total, "%+v", c.subscribe)
		}
	})
}
