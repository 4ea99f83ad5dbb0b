package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
)

// Regression 2: a view that was moved before its collection was described
// opened where it was first asked for.
func TestRegression2_MoveBeforeTheCollectionIsDescribed(t *testing.T) {
	r := newRig(t)
	r.load(10)
	out := (&wire.OpenCollection{Collection: 1, Resource: "v1/pods"}).Append(nil)
	out = (&wire.OpenView{View: 1, Collection: 1, Limit: 3}).Append(out)
	out = (&wire.MoveView{View: 1, Offset: 4, Limit: 2}).Append(out)
	r.engine.Tick(r.now)
	require.NoError(t, r.engine.Step(out))
	r.settle()
	var p wire.ViewPatch
	require.NoError(t, p.Parse(r.seen[wire.TypeViewPatch][0]))
	require.EqualValues(t, 4, p.Offset)
	require.Len(t, p.Slots, 2)
}
