package reflector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// interrupted returns a reflector that was disconnected after the given objects of a
// snapshot at version 4, and has connected again.
func interrupted(t *testing.T, rowsFirst bool, list ...string) *rig {
	r := newRigOf(t, reflector.Scope{Resource: "v1/pods", RowsFirst: rowsFirst})
	r.Connected(5000)
	r.asked()
	r.begins(7, &wire.SnapshotBegin{ResourceVersion: 4})
	require.NoError(t, r.Receive(&wire.SnapshotPart{Objects: changes(api.Added, list...)}, 1))
	r.reconnect()
	return r
}

func (r *rig) reconnect() {
	r.Disconnected(api.Unavailable("cut"))
	r.Connected(5000)
}

// begins sends a schema with a delta epoch, and the beginning of a snapshot.
func (r *rig) begins(epoch uint64, f *wire.SnapshotBegin) {
	r.t.Helper()
	require.True(r.t, r.Schema(&wire.Schema{Schema: objects.Pods(), DeltaEpoch: epoch}, nil))
	r.Receive(&wire.LabelSet{ID: 1, Labels: api.Labels{{Key: "app", Value: "web"}}}, 0)
	require.NoError(r.t, r.Receive(f, 0))
}

// The request for the rest of a snapshot contains the key directly after the last object,
// and the version of the last received changes.
func TestB38_SnapshotContinuesAfterItsLastObject(t *testing.T) {
	r := interrupted(t, false, "default/a rv=1", "default/b rv=2")
	f := r.asked()
	require.Equal(t, api.Key("default/b\x00"), f.SnapshotFrom)
	require.EqualValues(t, 4, f.ResourceVersion)
	r.begins(7, &wire.SnapshotBegin{ResourceVersion: 4, Continues: true})
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 6, Changes: changes(api.Deleted, "default/b rv=6")}, 1))
	r.reconnect()
	f = r.asked()
	require.Equal(t, api.Key("default/a\x00"), f.SnapshotFrom)
	require.EqualValues(t, 6, f.ResourceVersion)
}

// A connector may continue only the requested snapshot, at the requested version.
func TestB38_SnapshotContinuesOnlyAsRequested(t *testing.T) {
	for name, r := range map[string]*rig{
		"no snapshot":     newRig(t),
		"another version": interrupted(t, false, "default/a rv=1"),
	} {
		t.Run(name, func(t *testing.T) {
			r.Connected(5000)
			r.described()
			require.ErrorContains(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 5, Continues: true}, 0), "not requested")
			require.False(t, r.cacher.Ready())
		})
	}
}

// A connector must not send changes instead of the rest of a snapshot, because the reader
// would miss objects.
func TestB38_ChangesDoNotReplaceTheRestOfASnapshot(t *testing.T) {
	r := following(t)
	r.reconnect()
	r.asked()
	r.described()
	require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 7}, 0))
	require.NoError(t, r.Receive(&wire.SnapshotPart{Objects: changes(api.Added, "default/a rv=6")}, 1))
	r.reconnect()
	require.NotEmpty(t, r.asked().SnapshotFrom)
	require.ErrorContains(t, r.Receive(&wire.Events{ResourceVersion: 8}, 1), "instead of the requested snapshot")
}

// The reflector does not continue a snapshot after its subscription has ended with a 410.
func TestB38_RefusedSnapshotStartsOver(t *testing.T) {
	r := interrupted(t, false, "default/a rv=1")
	require.NotEmpty(t, r.asked().SnapshotFrom)
	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("relisted")}, 0)
	f := r.asked()
	require.Empty(t, f.SnapshotFrom)
	require.Zero(t, f.ResourceVersion)
}

// Objects received before the cut have the bases of the first connector. A later request
// therefore claims the bases of the second connector only for newer versions.
func TestB38_ContinuedSnapshotHasBasesOfBothConnectors(t *testing.T) {
	r := interrupted(t, false, "default/a rv=1")
	r.asked()
	r.begins(8, &wire.SnapshotBegin{ResourceVersion: 4, Continues: true})
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 6}, 1))
	r.reconnect()
	f := r.asked()
	require.EqualValues(t, 8, f.DeltaEpoch)
	require.EqualValues(t, 4, f.DeltaEpochSince, "while it continues")
	r.begins(8, &wire.SnapshotBegin{ResourceVersion: 6, Continues: true})
	require.NoError(t, r.Receive(&wire.SnapshotEnd{ResourceVersion: 9}, 0))
	r.reconnect()
	f = r.asked()
	require.EqualValues(t, 9, f.ResourceVersion)
	require.EqualValues(t, 4, f.DeltaEpochSince, "after its end")
}

// A connector may send bodies with the rows. The reader then requests the rest of the
// snapshot with bodies, too.
func TestB38_SnapshotContinuesWithBodies(t *testing.T) {
	r := interrupted(t, true, `default/a rv=1 body={}`)
	require.False(t, r.asked().RowsFirst)
	r = interrupted(t, true, "default/a rv=1")
	require.True(t, r.asked().RowsFirst)
}
