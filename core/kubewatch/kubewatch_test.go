package kubewatch_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

func fill(s *server, n int) {
	for i := range n {
		s.put(fmt.Sprintf("ns-%d/pod-%d", i%3, i), []string{"web", "db"}[i%2], i)
	}
}

func TestTheStateThenChanges(t *testing.T) {
	r := newRig(t)
	fill(r.server, 7)
	r.collection()
	r.converged()
	require.Equal(t, []api.State{api.StateConnecting, api.StateSyncing, api.StateLive}, r.states)
	require.Equal(t, "Pod", r.schema.Schema.Kind)
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1, LabelSelector: "app=web"})
	r.events = nil
	r.server.put("ns-0/pod-0", "web", 3)
	r.server.put("ns-0/pod-0", "db", 3)
	r.server.put("ns-9/new", "web", 0)
	r.server.delete("ns-9/new")
	r.settle()
	r.converged()
	require.Equal(t, []string{"MODIFIED ns-0/pod-0", "DELETED ns-0/pod-0", "ADDED ns-9/new", "DELETED ns-9/new"}, r.events)
	r.pass(120_000)
	r.converged()
	require.Equal(t, []api.State{api.StateConnecting, api.StateSyncing, api.StateLive}, r.states, "it stays live without changes")
}

// Watches request bookmarks and a short timeout. The bookmark before the end of each
// watch keeps the collection live.
func TestR5_WatchesRequestBookmarksAndAShortTimeout(t *testing.T) {
	r := newRig(t)
	fill(r.server, 3)
	r.collection()
	r.pass(60_000)
	r.converged()
	watches := 0
	for _, path := range r.server.paths {
		u, err := url.Parse(path)
		require.NoError(t, err)
		q := u.Query()
		if q.Get("watch") != "1" || q.Get("sendInitialEvents") != "" {
			continue
		}
		watches++
		require.Equal(t, "true", q.Get("allowWatchBookmarks"), path)
		require.NotEmpty(t, q.Get("resourceVersion"), path)
		require.Contains(t, []string{"4", "9"}, q.Get("timeoutSeconds"), path)
	}
	require.GreaterOrEqual(t, watches, 6, "%v", r.server.paths)
}

// All changes of a transaction have the same version (G4). The client skips none of these
// changes as a repetition, and loses none if the connection ends between two of them.
func TestG4_TransactionIsNotSplit(t *testing.T) {
	r := newRig(t)
	fill(r.server, 4)
	r.collection()
	r.pass(1_000)
	for _, parts := range []int{2, 1} {
		before := len(r.server.Log)
		rv := r.server.Newest
		for i := range 3 {
			r.server.Newest = rv
			r.server.put(fmt.Sprintf("ns-%d/pod-%d", i, i), "txn", parts)
		}
		events := r.server.Log[before:]
		watch := r.watching()
		for _, e := range events[:parts] {
			r.step(&wire.StreamData{Stream: watch, Data: []byte(e.Line())})
		}
		if parts == 2 {
			r.step(&wire.StreamData{Stream: watch, Data: []byte(events[2].Line())})
			r.server.open[watch].watch.Sent = r.server.Newest
		} else {
			r.cut(func() {})
		}
		r.pass(5_000)
		r.converged()
	}
}

// After the server has reported its newest version, further changes with that version may
// arrive. After a disconnect, the client requests the rest of the transaction.
func TestNewestVersionDoesNotCompleteATransaction(t *testing.T) {
	for _, newest := range []int{104, 105} {
		r := newRig(t)
		fill(r.server, 4) // up to version 104
		r.collection()
		r.pass(1_000)
		for i := range 3 {
			r.server.Newest = 104
			r.server.put(fmt.Sprintf("ns-%d/pod-%d", i, i), "txn", 1)
		}
		all := r.server.Log
		r.server.Log = all[:5]
		r.server.answers(newer, sent(fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[]}`, newest)))
		r.cut(func() {})
		r.backedOff()
		require.EqualValues(t, 105, r.list()["ns-0/pod-0"], "one of three changes has arrived")
		r.server.Log, r.server.fail = all, nil
		r.cut(func() {})
		r.pass(5_000)
		r.converged()
	}
}

// snapshot returns the persisted form of the collection's complete state, in chunks.
func (r *rig) snapshot() (chunks [][]byte) {
	r.t.Helper()
	r.step(&wire.TakeSnapshot{Request: 7, Collection: 1})
	for {
		var f wire.SnapshotChunk
		require.NoError(r.t, f.Parse(r.seen[wire.TypeSnapshotChunk][len(chunks)]))
		if chunks = append(chunks, f.Data); f.Last {
			return chunks
		}
		r.step(&wire.NextChunk{Request: 7})
	}
}

// Persisted state is available immediately, and the engine resumes from the version of
// that state. The engine does not use persisted state of another cluster or with other
// columns.
func TestStoredStateIsResumed(t *testing.T) {
	first := newRig(t)
	fill(first.server, 50)
	first.collection()
	stored := first.snapshot()
	for name, resumes := range map[string]bool{"the same": true, "another cluster": false, "other columns": false} {
		r := newRig(t)
		r.server = newServer()
		fill(r.server, 50)
		r.server.put("ns-0/pod-0", "late", 1)
		r.server.delete("ns-1/pod-1")
		open := &wire.OpenCollection{Collection: 1, Resource: "v1/pods", Restore: true}
		switch name {
		case "another cluster":
			r.server.UID = "cluster-2"
		case "other columns":
			open.Columns = []api.Column{{Name: "App", Kind: api.String, Path: ".metadata.labels.app"}}
		}
		r.step(open)
		for i, chunk := range stored {
			r.step(&wire.RestoreChunk{Collection: 1, Data: chunk, End: i == len(stored)-1})
		}
		require.Len(t, r.list(), 50, name)
		r.pass(5_000)
		r.converged()
		require.Equal(t, resumes, r.server.count("sendInitialEvents") == 0, "%s: %q", name, r.server.paths)
	}
}

func TestSingleObjectIsRequestedByName(t *testing.T) {
	r := newRig(t)
	r.step(&wire.AcquireObject{Handle: 1, Resource: "v1/secrets", Key: "ns-0/x y"})
	r.settle()
	require.Contains(t, r.server.paths[1], "/api/v1/namespaces/ns-0/secrets?fieldSelector=metadata.name%3Dx%20y&")
}
