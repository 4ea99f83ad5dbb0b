package sourcetest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// Run runs the contract test of package source. Every subtest calls open, which must
// return a harness with an empty store.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"schemas are sorted and found", testSchemas},
		{"an unknown resource is a 404 that names it", testUnknownResource},
		{"an empty list has a revision", testEmptyList},
		{"E2 E3 E7 C41 a stream without a revision begins with a list, ordered and as of one revision", testList},
		{"K16 keys of cluster-scoped objects are names", testClusterScoped},
		{"E5 a list longer than a page is pinned while objects change", testPinnedList},
		{"E8 changes follow the list without a gap while writers race", testNoGap},
		{"E2 E3 E9 a stream from a revision has no list and begins right after it", testResume},
		{"E28 a revision from the future is refused", testFuture},
		{"E19 C54 resuming from a compacted revision is a 410", testCompacted},
		{"E19 a stream that kept up survives compaction", testSurvivesCompaction},
		{"E25 a transaction arrives in one call", testTransaction},
		{"E25 a revision is not split when a stream catches up", testCatchUpWhole},
		{"E13 creation, update and deletion have their own revisions", testLifeOfAnObject},
		{"E17 an idle stream reports progress", testProgress},
		{"G3 streams of the same resource see the same", testManyStreams},
		{"G3 streams see nothing of other resources", testIsolation},
		{"E23 cancel ends a stream and its goroutines", testCancel},
		{"E23 cancel ends a stream whose sink blocks", testCancelBlocked},
		{"E11 an error of the sink ends the stream and is returned", testSinkError},
		{"C53 a value that is no JSON passes without harm", testUndecodable},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func testSchemas(t *testing.T, h Harness) {
	resources, err := h.Source.Resources(t.Context())
	require.NoError(t, err)
	for i, r := range resources {
		if i > 0 {
			assert.Less(t, resources[i-1].String(), r.String())
		}
		schema, err := h.Source.Schema(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, r, schema.Resource)
		assert.Equal(t, "metadata.name", schema.Fields[0])
		assert.Equal(t, schema.Namespaced, schema.Field("metadata.namespace") == 1)
	}
	assert.Contains(t, resources, ConfigMaps)
	assert.Contains(t, resources, Nodes)
}

func testUnknownResource(t *testing.T, h Harness) {
	unknown := api.Resource{Group: "example.com", Version: "v1", Name: "unicorns"}
	_, err := h.Source.Schema(t.Context(), unknown)
	assert.ErrorIs(t, err, api.NotFound(""))
	assert.ErrorContains(t, err, "example.com/v1/unicorns")
	assert.ErrorIs(t, h.Source.Stream(t.Context(), unknown, 0, newRecorder(t, 0)), api.NotFound(""))
}

func testTransaction(t *testing.T, h Harness) {
	if h.SingleKey {
		t.Skip("this store changes one object at a time, and has no transactions to keep whole")
	}
	s := newStore(t, h, ConfigMaps)
	s.put("old", "a/update", "a/delete")
	r := stream(t, h, ConfigMaps, 0)
	r.awaitList()
	rv := s.txn(
		record{Key: "b/create", Marker: "new"},
		record{Key: "a/delete", Deleted: true},
		record{Key: "a/update", Marker: "new"},
	)
	many := s.put("many", names("c", 100)...)
	r.awaitRevision(many)
	assert.Equal(t, s.after(r.listRV), r.got(), "in the order of the transaction")
	assertWhole(t, r, rv)
	assertWhole(t, r, many)
}

// testCatchUpWhole resumes from an old revision, so that the store delivers many
// revisions at once and the source must split them.
func testCatchUpWhole(t *testing.T, h Harness) {
	if h.SingleKey {
		t.Skip("this store changes one object at a time, and has no transactions to keep whole")
	}
	s := newStore(t, h, ConfigMaps)
	first := s.put("first", "a/a")
	keys := names("a", 7)
	for range 1200 { // more than etcd sends in one response
		s.put("again", keys...)
	}
	r := stream(t, h, ConfigMaps, first)
	r.awaitRevision(s.newest())
	assert.Equal(t, s.after(first), r.got())
}

// assertWhole checks that a revision arrived in one call. The recorder has already
// rejected revisions that were split.
func assertWhole(t *testing.T, r *running, rv api.ResourceVersion) {
	t.Helper()
	calls := 0
	for _, call := range r.calls {
		for _, c := range call {
			if c.RV == rv {
				calls++
				break
			}
		}
	}
	assert.Equal(t, 1, calls, "calls that carry revision %v", rv)
}

func testLifeOfAnObject(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	s.put("x", "a/other")
	r := stream(t, h, ConfigMaps, 0)
	r.awaitList()
	s.put("1", "a/it")
	s.put("2", "a/it")
	s.delete("a/it")
	s.put("3", "a/it")
	r.awaitRevision(s.newest())
	assert.Equal(t, s.after(r.listRV), r.got())
}

func testProgress(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	s.put("1", "a/a")
	r := stream(t, h, ConfigMaps, 0)
	list := r.awaitList()
	h.progress()
	r.await("progress", func() bool { return r.progress >= list })

	elsewhere := newStore(t, h, Nodes).put("1", "n")
	h.progress()
	r.await("progress with revisions of other resources", func() bool { return r.progress >= elsewhere })

	resumed := stream(t, h, ConfigMaps, elsewhere)
	resumed.awaitRevision(s.put("2", "a/a")) // h.progress affects only streams that are already running
	h.progress()
	resumed.await("progress of a resumed stream", func() bool { return resumed.progress > elsewhere })
}

func testManyStreams(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	first := s.put("0", "a/a")
	var all []*running
	for range 5 {
		all = append(all, stream(t, h, ConfigMaps, first))
	}
	for range 50 {
		s.put("1", "a/a")
		s.put("1", "a/b")
	}
	for _, r := range all {
		r.awaitRevision(s.newest())
		assert.Equal(t, s.after(first), r.got())
	}
}

func testIsolation(t *testing.T, h Harness) {
	nodes, maps := newStore(t, h, Nodes), newStore(t, h, ConfigMaps)
	nodes.put("1", "n")
	maps.put("1", "a/a")
	r := stream(t, h, ConfigMaps, 0)
	list := r.awaitList()
	nodes.put("2", "n")
	r.awaitRevision(maps.put("2", "a/a"))
	assert.Equal(t, maps.at(list), r.listed())
	assert.Equal(t, maps.after(list), r.got())
}

var errSink = errors.New("the sink is full")
