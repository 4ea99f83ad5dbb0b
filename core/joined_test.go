package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// A join takes memory only while a view needs it. The engine computes the join in steps,
// and the first patch of the view has all cells (B10).
func TestJoinExistsWhileAViewIsOpen(t *testing.T) {
	r := newRig(t)
	r.load(500)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", MetadataOnly: true, Columns: []api.Column{
		{Name: "Again", Kind: api.Integer, Printer: "join", Path: "v1/pods Restarts"},
	}})
	before := r.engine.usedBytes()
	r.engine.LimitViewWork(2000)
	r.step(&wire.OpenView{View: 1, Collection: 1, Sort: "-Again", Limit: 5})
	ticks := 0
	for ; len(r.seen[wire.TypeViewPatch]) == 0; ticks++ {
		require.Less(t, ticks, 1000, "the view is never complete")
		r.engine.Tick(r.now)
		r.settle()
	}
	require.Greater(t, ticks, 40, "a step was too large")
	var patch wire.ViewPatch
	require.NoError(t, patch.Parse(r.seen[wire.TypeViewPatch][0]))
	require.EqualValues(t, 500, patch.Total)
	for _, row := range patch.Edits[0].Insert {
		require.Equal(t, api.Value{Kind: api.Integer, Int: 6}, row.Envelope.Column(2))
	}
	require.Greater(t, r.engine.usedBytes(), before+500*50)
	r.step(&wire.OpenView{View: 1, Collection: 1, Sort: "no such column"})
	r.step(&wire.CloseView{View: 1})
	require.Equal(t, before, r.engine.usedBytes())
	r.step(&wire.OpenView{View: 2, Collection: 1, Sort: "nor this"})
	require.Equal(t, before, r.engine.usedBytes(), "a refused view needs no join")
}

// The data that an engine stores for views counts toward the memory limit (B7). This data
// consists of the rows with columns of other collections, the children of each object,
// and the owners.
func TestIndexesForViewsCountAsMemory(t *testing.T) {
	const pods = 400
	// grown returns the memory that a view uses.
	grown := func(columns []api.Column, view wire.OpenView) int {
		r := newRig(t)
		r.backend.pods.Listing().Begin()
		for i := range pods {
			p := pod(fmt.Sprintf("default/p%d", i), 1, "web", "Running")
			p.Labels = append(api.Labels{{Key: "", Value: fmt.Sprintf("u-default/p%d", i/2)}}, p.Labels...)
			r.backend.pods.Listing().Object(p)
		}
		r.backend.pods.Listing().End(1, r.now)
		r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", MetadataOnly: true, Columns: columns})
		before := r.engine.usedBytes()
		view.View, view.Collection, view.Limit = 1, 1, 5
		r.step(&view)
		for len(r.seen[wire.TypeViewPatch]) == 0 {
			r.engine.Tick(r.now)
			r.settle()
		}
		used := r.engine.usedBytes()
		r.step(&wire.CloseView{View: 1})
		r.engine.Tick(r.now)
		r.settle()
		require.Equal(t, before, r.engine.usedBytes(), "a closed view takes no memory")
		return int(used - before)
	}
	const uid = 100 // a lower bound of the memory of a UID in an index
	joined := grown([]api.Column{{Name: "More", Kind: api.Integer, Printer: "join", Path: "v1/pods Restarts"}}, wire.OpenView{})
	require.Greater(t, joined, pods*50)
	counted := grown([]api.Column{{Name: "More", Kind: api.Integer, Printer: "children", Path: "v1/pods"}}, wire.OpenView{})
	require.Greater(t, counted, joined+pods*uid+pods/2*uid, "UIDs of rows, and of owners")
	further := grown([]api.Column{{Name: "More", Kind: api.Integer, Printer: "children", Path: "v1/pods,v1/pods"}}, wire.OpenView{})
	require.Greater(t, further, counted+pods*uid+pods/2*uid, "UIDs of the objects in between, and of their owners")
	byState := grown([]api.Column{{Name: "More", Kind: api.String, Printer: "children", Path: "v1/pods Phase"}}, wire.OpenView{})
	require.Greater(t, byState, counted, "values are texts")

	flat := grown(nil, wire.OpenView{OwnedBy: "u-default/p0"})
	require.Greater(t, grown(nil, wire.OpenView{OwnedBy: "u-default/p0", Recursive: true}), flat+pods/2*uid, "UIDs of owners")
}

// At the memory limit, the engine drops the indexes of joined columns first, and closes
// no collection (B7). The view stays exact, without values in these columns. A view that
// is opened later has values in these columns again.
func TestJoinIsDroppedBeforeACollectionIsClosed(t *testing.T) {
	const pods = 400
	r := newRig(t)
	r.load(pods)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", MetadataOnly: true, Columns: []api.Column{
		{Name: "Below", Kind: api.Integer, Printer: "children", Path: "v1/pods,v1/pods"},
	}})
	r.step(&wire.OpenView{View: 1, Collection: 1, Limit: 5})
	patch := r.patch()
	require.Equal(t, api.Integer, patch.Edits[0].Insert[0].Envelope.Column(2).Kind)
	used := r.engine.usedBytes()
	r.engine.cfg.MaxBytes = used

	r.backend.pods.Apply(pod("default/new", 100_000, "web", "Running"), r.now)
	r.settle()
	patch = r.patch()
	require.EqualValues(t, pods+1, patch.Total)
	var state wire.CollectionState
	require.NoError(t, state.Parse(last(r.seen[wire.TypeCollectionState])))
	require.Equal(t, api.StateLive, state.State)
	require.Equal(t, []any{api.JoinUnavailable, 413}, []any{state.Status.Cause, state.Status.Code})
	require.Less(t, r.engine.usedBytes(), used-pods*100, "the indexes are gone")

	r.engine.cfg.MaxBytes = 64 << 20
	r.step(&wire.CloseView{View: 1})
	r.step(&wire.OpenView{View: 2, Collection: 1, Limit: 5})
	patch = r.patch()
	require.Equal(t, api.Integer, patch.Edits[0].Insert[0].Envelope.Column(2).Kind)
	require.EqualValues(t, pods+1, patch.Total)
}

// Joined columns are no longer refused after their last view is closed, even if the
// engine reaches the limit immediately afterwards.
func TestRefusedJoinEndsWithItsLastView(t *testing.T) {
	r := newRig(t)
	r.load(400)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", MetadataOnly: true, Columns: []api.Column{
		{Name: "Below", Kind: api.Integer, Printer: "children", Path: "v1/pods"},
	}})
	r.step(&wire.OpenView{View: 1, Collection: 1, Limit: 5})
	r.patch()
	r.engine.cfg.MaxBytes = r.engine.usedBytes() - 20_000 // less than the join takes
	r.backend.pods.Apply(pod("default/new", 100_000, "web", "Running"), r.now)
	data := wire.StreamData{Stream: r.stream, Data: r.session.Next(4096, r.now)}
	require.NoError(t, r.engine.Step(data.Append((&wire.CloseView{View: 1}).Append(nil))))
	r.settle()
	r.engine.cfg.MaxBytes = 64 << 20
	r.step(&wire.OpenView{View: 2, Collection: 1, Limit: 5})
	require.Equal(t, api.Integer, r.patch().Edits[0].Insert[0].Envelope.Column(2).Kind)
}

// patch returns the last patch of a view. It ticks until a patch has arrived.
func (r *rig) patch() (patch wire.ViewPatch) {
	for ticks := 0; len(r.seen[wire.TypeViewPatch]) == 0; ticks++ {
		require.Less(r.t, ticks, 1000, "the view has no patch")
		r.engine.Tick(r.now)
		r.settle()
	}
	require.NoError(r.t, patch.Parse(last(r.seen[wire.TypeViewPatch])))
	r.seen[wire.TypeViewPatch] = nil
	r.step(&wire.GrantView{View: patch.View})
	return patch
}

func last(frames [][]byte) []byte { return frames[len(frames)-1] }
