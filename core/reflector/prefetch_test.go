package reflector_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/wire"
)

func (r *rig) phase(key api.Key) string {
	ref := r.cacher.State().Get(key)
	require.NotZero(r.t, ref, key)
	return r.cacher.Arena().Envelope(ref).Field(3)
}

// Objects are prefetched before any changes of a message are applied. When a patch is
// applied, its object may have been recreated, and another object may have the prefetched ID.
func TestPatchOfARecreatedObject(t *testing.T) {
	r := following(t)
	var events []wire.Change
	events = append(events, changes(api.Deleted, "default/a rv=6")...)
	events = append(events, changes(api.Added, "default/other rv=7 phase=Pending", "default/a rv=8 phase=Pending")...)
	events = append(events,
		patched(t, "default/a rv=8 phase=Pending", "default/a rv=9 phase=Running"),
		patched(t, "default/a rv=9 phase=Running", "default/a rv=10 phase=Failed"),
		patched(t, "default/other rv=7 phase=Pending", "default/other rv=11 phase=Running"))
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 11, Changes: events}, 1))
	require.Equal(t, api.StateLive, r.state())
	require.Equal(t, "Failed", r.phase("default/a"))
	require.Equal(t, "Running", r.phase("default/other"))
	require.Equal(t, 3, r.cacher.State().Len())
}

// All patches of a message are applied, even if one prefetch covers only some of them.
func TestManyPatches(t *testing.T) {
	const pods = 200
	name := func(i, rv int, phase string) string {
		return "default/p" + strconv.Itoa(i) + " rv=" + strconv.Itoa(rv) + " phase=" + phase
	}
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	var list []string
	var events []wire.Change
	for i := range pods {
		list = append(list, name(i, 1, "Pending"))
		events = append(events, patched(t, name(i, 1, "Pending"), name(i, 2+i, "phase-"+strconv.Itoa(i))))
	}
	r.listed(1, list...)
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 1 + pods, Changes: events}, 1))
	require.Equal(t, api.StateLive, r.state())
	for i := range pods {
		require.Equal(t, "phase-"+strconv.Itoa(i), r.phase(objects.Object(name(i, 1, "")).Key))
	}
}
