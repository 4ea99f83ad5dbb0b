package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/wire"
)

// cut closes the connection and waits for the next one.
func (r *rig) cut() {
	r.session = nil
	r.step(&wire.StreamClosed{Stream: r.stream})
	r.later(10_000)
}

func (r *rig) later(millis int64) {
	r.now += millis
	r.engine.Tick(r.now)
	r.settle()
}

// inspect requests an InspectReply and returns one of its values, or -1.
func (r *rig) inspect(name string) int64 {
	r.step(&wire.Inspect{Request: 1})
	return r.inspected(name)
}

// inspected returns one value of the last InspectReply, or -1 if the name is missing.
func (r *rig) inspected(name string) int64 {
	all := r.seen[wire.TypeInspectReply]
	var in wire.InspectReply
	require.NoError(r.t, in.Parse(all[len(all)-1]))
	for _, e := range in.Entries {
		if e.Name == name {
			return e.Value
		}
	}
	return -1
}

// getObject requests an object. It returns the item or the error, or two nils if
// neither has arrived.
func (r *rig) getObject(key api.Key) (*wire.Item, *api.Status) {
	r.seen[wire.TypeObjectReply], r.seen[wire.TypeErrorReply] = nil, nil
	r.step(&wire.GetObject{Request: 9, Resource: "v1/pods", Key: key})
	var reply wire.ObjectReply
	var failed wire.ErrorReply
	switch {
	case len(r.seen[wire.TypeObjectReply]) > 0:
		require.NoError(r.t, reply.Parse(r.seen[wire.TypeObjectReply][0]))
		return &reply.Item, nil
	case len(r.seen[wire.TypeErrorReply]) > 0:
		require.NoError(r.t, failed.Parse(r.seen[wire.TypeErrorReply][0]))
	}
	return nil, failed.Status
}

// A reader resumes after a disconnect if its source has a cluster ID.
func TestEngine_resumes_in_a_named_source(t *testing.T) {
	r := newRig(t)
	r.backend.pods.Upstream().SetClusterID("etcd-a")
	r.load(3)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	r.cut()
	require.EqualValues(t, 1, r.inspect("collection.1.relists"))
	require.EqualValues(t, 1, r.inspect("collection.1.resumes"))
}

// An object whose watch was stopped must not go back to an older version when it is
// read again. This minimum version applies only within the same history (K7).
func TestK7_MinimumVersionBelongsToItsHistory(t *testing.T) {
	r := newRig(t)
	r.backend.pods.Upstream().SetClusterID("etcd-a")
	r.load(3)
	r.step(&wire.AcquireObject{Handle: 1, Resource: "v1/pods", Key: "default/p1", OnDemand: true})
	item, status := r.getObject("default/p1")
	require.Nil(t, status)
	require.EqualValues(t, 2, item.ResourceVersion)
	for range 7 {
		r.later(60_000)
	}
	require.EqualValues(t, 0, r.inspect("objects.watches"))

	other := cacher.New(cacher.Config{Schema: podSchema})
	other.Upstream().SetClusterID("etcd-b")
	other.Listing().Begin()
	other.Listing().Object(pod("default/p1", 1, "web", "Failed"))
	other.Listing().End(5, r.now)
	r.backend.serve(other)
	r.getObject("default/p1")
	item, status = r.getObject("default/p1")
	require.Nil(t, status)
	require.EqualValues(t, 1, item.ResourceVersion)
}

// A thousand acquired objects of an open collection need no further subscriptions. After
// the program has released all objects, the engine keeps no state for them.
func TestK3_ReleaseLeavesNoItems(t *testing.T) {
	r := newRig(t)
	r.load(1000)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	for i := range uint32(1000) {
		r.step(&wire.AcquireObject{Handle: 100 + i, Resource: "v1/pods", Key: api.Key("default/p" + number(uint64(i)))})
	}
	require.Len(t, r.seen[wire.TypeObjectChanged], 1000)
	require.EqualValues(t, 1, r.inspect("subscriptions"))
	require.EqualValues(t, 1000, r.inspect("objects.covered"))
	r.step(&wire.CloseCollection{Collection: 1})
	require.EqualValues(t, 1000, r.inspect("objects.watches"))
	require.Len(t, r.seen[wire.TypeObjectChanged], 1000, "no new state to report")
	for i := range uint32(1000) {
		r.step(&wire.ReleaseObject{Handle: 100 + i})
		r.step(&wire.ReleaseObject{Handle: 100 + i})
	}
	r.later(lingerMillis)
	require.EqualValues(t, 0, r.inspect("subscriptions"))
	require.Empty(t, r.engine.complete)
}
