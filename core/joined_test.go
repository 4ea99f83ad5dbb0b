package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// A join takes memory only while a view needs it. It is computed in steps, and the first
// patch of the view has all cells (B10).
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
