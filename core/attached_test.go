package core

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// leaf is an engine whose connector is another engine, the upper engine.
type leaf struct {
	*rig
	trunk *rig
	id    uint32
	room  int // the initial credit
	taken int // number of messages received from the upper engine
	// changed, if not nil, transforms each message from the upper engine before it
	// arrives.
	changed func(message []byte) []byte
}

func (r *rig) leaf(id uint32, room int) *leaf {
	return &leaf{rig: newRig(r.t), trunk: r, id: id, room: room}
}

var everything = []wire.ReaderScope{{Resource: "*"}}

// settle moves messages between the two engines until none are left.
func (l *leaf) settle() {
	for moved := true; moved; {
		moved = l.fromLeaf() || l.fromTrunk()
	}
}

func (l *leaf) fromLeaf() bool {
	out := append([]byte(nil), l.engine.Ready()...)
	l.engine.Advance()
	require.NoError(l.t, each(out, func(t wire.Type, payload []byte) error {
		switch t {
		case wire.TypeOpenStream:
			var f wire.OpenStream
			require.NoError(l.t, f.Parse(payload))
			l.stream = f.Stream
			l.trunk.step(&wire.AttachReader{Reader: l.id, Allowed: everything, Room: uint64(l.room)})
			return l.engine.Step((&wire.StreamOpened{Stream: f.Stream}).Append(nil))
		case wire.TypeCloseStream:
			l.trunk.step(&wire.DetachReader{Reader: l.id})
		case wire.TypeSendStream:
			var f wire.SendStream
			require.NoError(l.t, f.Parse(payload))
			l.trunk.step(&wire.ReaderMessage{Reader: l.id, Data: f.Data})
		default:
			l.seen[t] = append(l.seen[t], append([]byte(nil), payload...))
		}
		return nil
	}))
	return len(out) > 0
}

func (l *leaf) fromTrunk() bool {
	all := l.trunk.seen[wire.TypeSendReader]
	for ; l.taken < len(all); l.taken++ {
		var f wire.SendReader
		require.NoError(l.t, f.Parse(all[l.taken]))
		if f.Reader != l.id {
			continue
		}
		if l.changed != nil {
			f.Data = l.changed(f.Data)
		}
		l.engine.Tick(l.now)
		require.NoError(l.t, l.engine.Step((&wire.StreamData{Stream: l.stream, Data: f.Data}).Append(nil)))
		l.taken++
		l.trunk.step(&wire.GrantReader{Reader: l.id, Bytes: uint64(len(f.Data))})
		return true
	}
	return false
}

func (l *leaf) do(f frame) {
	l.engine.Tick(l.now)
	require.NoError(l.t, l.engine.Step(f.Append(nil)))
	l.settle()
}

// wait advances the time while the source reports progress.
func (l *leaf) wait(millis int64) {
	l.trunk.backend.pods.Progress(l.trunk.backend.pods.ResourceVersion(), l.trunk.now+millis)
	l.silence(millis)
}

// silence advances the time while the source reports no progress.
func (l *leaf) silence(millis int64) {
	l.trunk.later(millis)
	l.later(millis)
}

// later advances the time. Unlike rig.later, it then moves messages between the two
// engines.
func (l *leaf) later(millis int64) {
	l.now += millis
	l.engine.Tick(l.now)
	l.settle()
}

func (l *leaf) inspect(name string) int64 {
	l.do(&wire.Inspect{Request: 1})
	return l.inspected(name)
}

// live returns a leaf with a live collection.
func (r *rig) live() *leaf {
	l := r.leaf(7, 1<<20)
	l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	l.wait(1500) // the first response asks for a retry
	require.Equal(r.t, api.StateLive, l.state().State)
	return l
}

// bothLive returns a leaf with a live collection. It first opens the collection in the
// upper engine, so that the leaf need not retry.
func (r *rig) bothLive() *leaf {
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	l := r.leaf(7, 1<<20)
	l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.Equal(r.t, api.StateLive, l.state().State)
	return l
}

type frame interface{ Append([]byte) []byte }

func (l *leaf) listed(collection uint32) []string {
	l.seen[wire.TypeListReply] = nil
	l.do(&wire.List{Request: 901, Collection: collection, ResourceVersion: "0", Bodies: true})
	require.Len(l.t, l.seen[wire.TypeListReply], 1)
	var f wire.ListReply
	require.NoError(l.t, f.Parse(l.seen[wire.TypeListReply][0]))
	var texts []string
	for _, it := range f.Items {
		texts = append(texts, it.ResourceVersion.String()+it.Labels[0].Value+string(it.Envelope))
	}
	return texts
}

// An attached reader receives the complete state of the engine, regardless of its initial
// credit. The engine opens the requested collections upstream (G3).
func TestG3_ReadersOfAnEngine(t *testing.T) {
	for _, room := range []int{1, 500, 1 << 20} {
		random := rand.New(rand.NewSource(int64(room)))
		r := newRig(t)
		r.load(100)
		l := r.leaf(7, room)
		l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
		l.do(&wire.OpenCollection{Collection: 2, Resource: "v1/pods", Namespace: "default", LabelSelector: "app=web"})
		for range 10 { // the first response asks for a retry
			l.wait(1500)
		}
		require.Equal(t, api.StateLive, l.state().State)
		rv := uint64(100)
		for range 300 {
			r.churn(random, &rv)
			if random.Intn(4) == 0 {
				l.settle()
			}
		}
		l.wait(6000)
		l.wait(6000)
		require.Equal(t, len(r.backend.objects()), len(l.listed(1)))
		require.Equal(t, r.backend.objects(), versions(l, 1))
		require.Less(t, len(l.listed(2)), len(l.listed(1)))
		require.Equal(t, api.StateLive, l.state().State)

		// One upstream subscription serves both collections of the reader, and ends
		// after the reader is detached.
		require.EqualValues(t, 1, r.inspect("subscriptions"))
		require.EqualValues(t, 1, r.inspect("readers"))
		r.step(&wire.DetachReader{Reader: 7})
		r.later(lingerMillis + 1)
		require.Zero(t, r.inspect("subscriptions"))
	}
}

// A collection that was opened for a reader is retained until the reader subscribes again, even
// if another reader has used and left the collection since. Otherwise readers that come and go
// would make the engine open the collection again and again, and refuse the first reader forever.
func TestCollectionIsRetainedForAReaderThatRetries(t *testing.T) {
	r := newRig(t)
	r.load(3)
	waits := r.leaf(7, 1<<20)
	waits.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.NotEqual(t, api.StateLive, waits.state().State, "the first response asks for a retry")

	leaves := r.leaf(8, 1<<20)
	leaves.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.Equal(t, api.StateLive, leaves.state().State)
	leaves.do(&wire.CloseCollection{Collection: 1})
	leaves.wait(lingerMillis + 1) // its engine retains the collection, too
	leaves.wait(lingerMillis + 1)
	require.EqualValues(t, 1, r.inspect("readers"))
	require.EqualValues(t, 1, r.inspect("subscriptions"))

	waits.wait(1500)
	require.Equal(t, api.StateLive, waits.state().State)

	r.step(&wire.DetachReader{Reader: 7})
	r.later(lingerMillis + 1) // no reader is expected to return
	require.Zero(t, r.inspect("subscriptions"))
}

// objects returns the resource version of each object of the connector, by key.
func (b backend) objects() map[string]uint64 {
	all := map[string]uint64{}
	b.pods.State().Ascend("", func(ref store.Ref) bool {
		all[string(b.pods.Arena().Key(ref))] = uint64(b.pods.Arena().ResourceVersion(ref))
		return true
	})
	return all
}

func versions(l *leaf, collection uint32) map[string]uint64 {
	l.seen[wire.TypeListReply] = nil
	l.do(&wire.List{Request: 902, Collection: collection, ResourceVersion: "0"})
	var f wire.ListReply
	require.NoError(l.t, f.Parse(l.seen[wire.TypeListReply][0]))
	all := map[string]uint64{}
	for _, it := range f.Items {
		all[string(it.Envelope.Key())] = uint64(it.ResourceVersion)
	}
	return all
}

// An engine whose connector reports no progress reports none to its readers, so their
// collections become stale too.
func TestReadersOfAnEngine_withoutConnector(t *testing.T) {
	r := newRig(t)
	r.load(10)
	l := r.bothLive()
	for range 8 { // neither its connector nor the engine reports progress
		l.silence(5000)
	}
	require.Equal(t, api.StateStale, r.state().State)
	require.Equal(t, api.StateStale, l.state().State)
	require.EqualValues(t, 10, l.state().Objects)
}

// If a read of an attached reader waits for a version, the engine requests progress
// from its connector. Otherwise the version would not arrive in time.
func TestC35_WaitRequestsProgressUpstream(t *testing.T) {
	r := newRig(t)
	r.load(3)
	l := r.leaf(7, 1<<20)
	l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	for range 10 { // the first response asks for a retry
		l.wait(1500)
	}
	require.False(t, r.backend.pods.Waits().Any())
	l.do(&wire.List{Request: 1, Collection: 1, ResourceVersion: "200", Match: api.MatchNotOlderThan})
	require.True(t, r.backend.pods.Waits().Any())
	r.backend.pods.Progress(200, r.now)
	r.settle()
	l.settle()
	require.Len(t, l.seen[wire.TypeListReply], 1)
}

// reattach detaches a reader and attaches it again with its saved session, as after an
// eviction of the engine. While the reader is detached, it calls the function between.
func (l *leaf) reattach(between func()) {
	l.trunk.seen[wire.TypeSavedReader] = nil
	l.trunk.step(&wire.SaveReader{Reader: l.id})
	var f wire.SavedReader
	require.NoError(l.t, f.Parse(l.trunk.seen[wire.TypeSavedReader][0]))
	l.settle() // deliver earlier messages and their responses
	l.trunk.step(&wire.DetachReader{Reader: l.id})
	between()
	l.trunk.step(&wire.AttachReader{Reader: l.id, Allowed: everything, Room: 1 << 40, Saved: f.Data})
}

// A reader that is saved and restored repeatedly misses no event, receives none
// twice, and lists once.
func TestG3_PersistedReaders(t *testing.T) {
	for seed := range int64(20) {
		random := rand.New(rand.NewSource(seed))
		r := newRig(t)
		r.load(100)
		r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
		l := r.leaf(7, 1<<40)
		l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
		l.do(&wire.OpenCollection{Collection: 2, Resource: "v1/pods", Namespace: "default", LabelSelector: "app=web"})
		for range 4 { // the first response asks for a retry
			l.wait(1500)
		}
		require.Equal(t, api.StateLive, l.state().State)
		rv := uint64(100)
		for range 50 {
			for range random.Intn(3) {
				r.churn(random, &rv)
			}
			l.settle()
			l.reattach(func() {
				for range random.Intn(3) {
					r.churn(random, &rv)
				}
			})
			l.settle()
		}
		l.wait(6000)
		l.wait(6000)
		require.Equal(t, r.backend.objects(), versions(l, 1))
		require.EqualValues(t, 1, l.inspect("collection.1.relists"))
		require.Zero(t, l.inspect("collection.1.missingBases"))
		require.Zero(t, l.inspect("reconnects"))
	}
}

// A slow reader reads the rest of its data while its Durable Object restarts. After the
// restart, the reader is no longer reported as stalled, even if it has no open
// subscription.
func TestSlowReaderWithoutSubscriptionsIsNotSlowAfterARestart(t *testing.T) {
	r := newRig(t)
	saved := (&wire.Hello{Version: wire.Version}).Append(nil)
	r.step(&wire.AttachReader{Reader: 7, Allowed: everything, Room: 3000, Saved: saved, Stalled: true})
	require.Len(t, r.seen[wire.TypeReaderStalled], 1)
	var f wire.ReaderStalled
	require.NoError(t, f.Parse(r.seen[wire.TypeReaderStalled][0]))
	require.False(t, f.Stalled)
}

// A reader requests a collection that the connector has permanently denied to the Durable
// Object. The Durable Object repeats the request, and refuses the reader only if the
// connector refuses again (rule B11).
func TestReadersDoNotReceiveTheRefusalThatAnotherUserHolds(t *testing.T) {
	r := newRig(t)
	r.load(10)
	r.backend.refused = api.BadRequest("pods are not served here")
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.Equal(t, api.StateClosed, r.state().State)
	asked := r.subscriptions

	early := r.leaf(7, 1<<20)
	early.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	early.wait(1500) // the first response asks for a retry
	require.Equal(t, api.StateClosed, early.state().State)
	require.Equal(t, 400, early.state().Status.Code)
	require.Equal(t, asked+1, r.subscriptions, "the reader's request is forwarded once")

	r.backend.refused = nil
	for range 10 {
		early.wait(1500) // the recent refusal has expired
	}
	late := r.leaf(8, 1<<20)
	late.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	late.wait(1500)
	require.Equal(t, api.StateLive, late.state().State)
	require.EqualValues(t, 10, late.state().Objects)
	require.Equal(t, api.StateClosed, r.state().State, "a collection that was closed stays closed")

	again := r.leaf(9, 1<<20)
	again.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.Equal(t, api.StateLive, again.state().State)
	require.Equal(t, asked+2, r.subscriptions, "both collections share one subscription")
}

// A Durable Object and its readers open collections of a resource that is not installed
// yet. All of these collections become live once the resource is installed (rule B11).
func TestReadersOfAnAbsentResourceReceiveItOnceItIsInstalled(t *testing.T) {
	r := newRig(t)
	r.load(10)
	r.backend.refused = api.NotFound("there is no resource v1/pods")
	l := r.leaf(7, 1<<20)
	l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	l.wait(1500) // the first response asks for a retry
	require.Equal(t, api.StateConnecting, l.state().State)
	require.Equal(t, 404, l.state().Status.Code)

	r.backend.refused = nil
	for range 10 {
		l.wait(1500)
	}
	require.Equal(t, api.StateLive, l.state().State)
	require.EqualValues(t, 10, l.state().Objects)
}
