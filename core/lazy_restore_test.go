package core

import (
	"math/rand"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// shelf is the storage of a program. It contains the bodies of chunks by name.
type shelf struct {
	bodies map[uint32][]byte
	loaded []uint32
}

// handHeads restores chunks without their bodies, which the engine loads from the
// returned shelf.
func (r *rig) handHeads(chunks [][]byte) *shelf {
	s := &shelf{bodies: map[uint32][]byte{}}
	r.engine.LoadWith(func(name, _ uint32) []byte {
		s.loaded = append(s.loaded, name)
		return s.bodies[name]
	})
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", Restore: true})
	for i, chunk := range chunks {
		_, _, body, err := wire.Next(chunk)
		require.NoError(r.t, err)
		name := uint32(i + 1)
		s.bodies[name] = slices.Clone(body)
		r.step(&wire.RestoreChunk{Collection: 1, Data: slices.Clone(chunk[:len(chunk)-len(body)]), Body: name})
	}
	r.step(&wire.RestoreChunk{Collection: 1, End: true})
	return s
}

// persist takes a full snapshot of a collection of pods, and an incremental snapshot
// after some changes. It returns the chunks of both snapshots, each of about
// chunkBytes bytes.
func (r *rig) persist(pods, changes int, chunkBytes uint32) (chunks [][]byte, whole, end wire.SnapshotChunk) {
	r.load(pods)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	chunks, whole = r.snapshot(wire.TakeSnapshot{Collection: 1, ChunkBytes: chunkBytes}, func() {})
	rv, random := uint64(whole.ResourceVersion), rand.New(rand.NewSource(int64(pods)))
	for range changes {
		r.churn(random, &rv)
	}
	more, end := r.snapshot(wire.TakeSnapshot{
		Collection: 1, ChunkBytes: chunkBytes, ResourceVersion: whole.ResourceVersion, ClusterID: whole.ClusterID,
	}, func() {})
	return append(chunks, more...), whole, end
}

// A restore loads no objects of the persisted state. Applying an event loads only the
// body that contains the object (R11).
func TestR11_RestoreDoesNotReadObjects(t *testing.T) {
	r := newRig(t)
	chunks, _, end := r.persist(100, 0, 1000)
	require.Greater(t, len(chunks), 10)
	again := r.restart()
	again.cut()
	s := again.handHeads(chunks)
	require.Empty(t, again.rejections())
	require.Empty(t, s.loaded)
	require.EqualValues(t, r.backend.pods.State().Len(), again.state().Objects)
	require.Equal(t, end.ResourceVersion, again.state().ResourceVersion)
	require.Zero(t, again.inspect("collection.1.versions"))

	again = r.restart()
	s = again.handHeads(chunks)
	require.Empty(t, s.loaded, "not even a request of the connector")
	rv := uint64(end.ResourceVersion) + 1
	again.backend.pods.Apply(pod("default/p5", rv, "web", "Running"), again.now)
	again.settle()
	require.Len(t, s.loaded, 1)
	require.Less(t, again.inspect("collection.1.versions"), int64(40))
	r.settle()
	require.Equal(t, r.objects(1), again.objects(1))
	require.Len(t, s.loaded, len(slices.Compact(slices.Sorted(slices.Values(s.loaded)))), "each segment is loaded once")
}

// A restore loads the bodies of the objects that have persisted changes, and no others
// (R11).
func TestR11_RestoreReadsChangedObjects(t *testing.T) {
	r := newRig(t)
	chunks, _, _ := r.persist(100, 3, 1000)
	again := r.restart()
	again.cut()
	s := again.handHeads(chunks)
	require.Empty(t, again.rejections())
	require.NotEmpty(t, s.loaded)
	require.LessOrEqual(t, len(s.loaded), 3)
	require.Zero(t, again.inspect("collection.1.relists"))
	require.Equal(t, r.objects(1), again.objects(1))
}

// A restore that needs a corrupt body is refused, and the collection is loaded from the
// connector (R11, C53).
func TestR11_RestoreOfACorruptBody(t *testing.T) {
	r := newRig(t)
	chunks, _, _ := r.persist(60, 40, 1000)
	again := r.restart()
	for _, chunk := range chunks {
		_, _, body, err := wire.Next(chunk)
		require.NoError(t, err)
		if len(body) > 0 {
			body[len(body)/2] ^= 4
		}
	}
	s := again.handHeads(chunks)
	require.NotEmpty(t, s.loaded)
	require.Len(t, again.rejections(), 1)
	require.Equal(t, api.StateLive, again.state().State)
	require.Equal(t, r.objects(1), again.objects(1))
}

// Unloaded bodies count toward the memory limit as if they were loaded. A restored
// collection that grows is therefore closed before its bodies would exceed the limit
// (B7, R11).
func TestBodiesThatWaitCountForTheMemoryAllowed(t *testing.T) {
	r := newRig(t)
	chunks, _, end := r.persist(100, 0, 1000)
	again := r.restart()
	again.cut()
	before := r.engine.usedBytes()
	again.engine.cfg.MaxBytes = before + before/2
	s := again.handHeads(chunks)
	require.Empty(t, again.rejections())
	require.Empty(t, s.loaded)
	require.InEpsilon(t, before, again.engine.usedBytes(), 0.1)

	for rv := uint64(end.ResourceVersion) + 1; again.state().State != api.StateClosed; rv++ {
		require.Less(t, again.engine.usedBytes(), again.engine.cfg.MaxBytes)
		again.backend.pods.Apply(pod("default/q"+strconv.FormatUint(rv, 10), rv, "web", "Running"), again.now)
		again.settle()
	}
	require.EqualValues(t, 413, again.state().Status.Code)
	allowed := again.engine.cfg.MaxBytes + 2*4096 // one message may exceed the limit
	require.Less(t, again.engine.usedBytes(), allowed)
	require.Greater(t, len(again.objects(1)), 100)
	require.NotEmpty(t, s.loaded)
	require.Less(t, again.engine.usedBytes(), allowed)
}

// A watch can start at a version from before the restore, as if the collection had never
// been closed (H7, R11).
func TestR11_RestoredHistory(t *testing.T) {
	for seed := range 20 {
		r := newRig(t)
		chunks, whole, _ := r.persist(50+seed, 40, 700)
		watch := func(r *rig, from api.ResourceVersion) []string {
			r.seen[wire.TypeWatchEvents] = nil
			r.step(&wire.OpenWatch{Watch: 7, Collection: 1, ResourceVersion: from.String(), Bodies: true, LabelSelector: "app=web"})
			var events []string
			for _, payload := range r.seen[wire.TypeWatchEvents] {
				var f wire.WatchEvents
				require.NoError(t, f.Parse(payload))
				for _, e := range f.Events {
					events = append(events, strconv.Itoa(int(e.Type))+" "+e.Item.ResourceVersion.String()+" "+string(e.Item.Envelope))
				}
			}
			r.step(&wire.CloseWatch{Watch: 7})
			return events
		}
		again := r.restart()
		again.handHeads(chunks)
		rv := uint64(r.backend.pods.ResourceVersion())
		random := rand.New(rand.NewSource(int64(seed)))
		for range seed % 4 {
			again.churn(random, &rv)
		}
		r.settle()
		for from := whole.ResourceVersion + 20; from >= whole.ResourceVersion; from -= 5 {
			require.Equal(t, watch(r, from), watch(again, from))
		}
	}
}

// A missing or corrupt body is detected when an object in it is read. The collection
// is then loaded again from the connector, and the rest of the old state is not read
// (R11, C53).
func TestR11_BodyThatIsCorrupt(t *testing.T) {
	for name, spoil := range map[string]func(*shelf){
		"gone":    func(s *shelf) { clear(s.bodies) },
		"changed": func(s *shelf) { s.bodies[1][len(s.bodies[1])/2] ^= 4 },
		"shorter": func(s *shelf) { s.bodies[1] = s.bodies[1][1:] },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			chunks, _, _ := r.persist(60, 0, 1000)
			again := r.restart()
			spoil(again.handHeads(chunks))
			again.step(&wire.OpenWatch{Watch: 7, Collection: 1, ResourceVersion: again.state().ResourceVersion.String()})
			again.seen[wire.TypeListReply], again.seen[wire.TypeErrorReply] = nil, nil
			again.step(&wire.List{Request: 901, Collection: 1, ResourceVersion: "0"})
			require.Empty(t, again.seen[wire.TypeListReply])
			require.Len(t, again.seen[wire.TypeErrorReply], 1)
			var f wire.ErrorReply
			require.NoError(t, f.Parse(again.seen[wire.TypeErrorReply][0]))
			require.EqualValues(t, 410, f.Status.Code)
			require.Contains(t, f.Status.Message, "incomplete or invalid; list again")
			require.NotContains(t, f.Status.Message, "does not match its checksum", "the cause may name an object")
			require.Len(t, again.seen[wire.TypeRejected], 1)
			var rejected wire.Rejected
			require.NoError(t, rejected.Parse(again.seen[wire.TypeRejected][0]))
			require.Contains(t, rejected.Status.Message, "does not match its checksum")
			require.Equal(t, api.StateLive, again.state().State)
			require.Equal(t, r.objects(1), again.objects(1))
			require.EqualValues(t, 1, again.inspect("collection.1.relists"))
			require.Len(t, again.seen[wire.TypeWatchClosed], 1, "the watch cannot continue from this version")
		})
	}
}

// If a body is corrupt, readers do not receive the remaining objects as a complete list
// (R11, C19).
func TestR11_ReadersOfACorruptBody(t *testing.T) {
	r := newRig(t)
	chunks, _, _ := r.persist(60, 0, 1000)
	again := r.restart()
	s := again.handHeads(chunks)
	delete(s.bodies, 3)
	again.seen[wire.TypeWatchEvents] = nil
	again.step(&wire.OpenWatch{Watch: 7, Collection: 1, ResourceVersion: "0", SendInitialEvents: api.True, Match: api.MatchNotOlderThan, Bookmarks: true})
	require.Empty(t, again.seen[wire.TypeWatchEvents])
	require.Len(t, again.seen[wire.TypeWatchClosed], 1)
	var f wire.WatchClosed
	require.NoError(t, f.Parse(again.seen[wire.TypeWatchClosed][0]))
	require.EqualValues(t, 410, f.Status.Code)
	require.Equal(t, r.objects(1), again.objects(1))
}

// A snapshot for a reader fails at a missing body. If the snapshot ended at that
// body, the reader would treat the remaining objects as deleted.
func TestSnapshotForAReaderFailsWhereABodyIsMissing(t *testing.T) {
	r := newRig(t)
	chunks, _, _ := r.persist(60, 0, 1000)
	again := r.restart()
	s := again.handHeads(chunks)
	delete(s.bodies, 3)
	l := again.leaf(7, 1<<20)
	l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	for range 5 {
		l.wait(1500)
	}
	require.Contains(t, s.loaded, uint32(3))
	require.Equal(t, api.StateLive, l.state().State)
	require.Equal(t, r.objects(1), l.listed(1))
	for _, payload := range l.seen[wire.TypeCollectionState] {
		var f wire.CollectionState
		require.NoError(t, f.Parse(payload))
		require.Contains(t, []int{0, r.backend.pods.State().Len()}, int(f.Objects))
	}
}

// If the previous version of an object cannot be loaded, an event of the object is
// not delivered as ADDED.
func TestR11_EventOfACorruptBody(t *testing.T) {
	r := newRig(t)
	chunks, _, end := r.persist(60, 0, 1000)
	again := r.restart()
	s := again.handHeads(chunks)
	again.step(&wire.OpenWatch{Watch: 7, Collection: 1, ResourceVersion: again.state().ResourceVersion.String()})
	clear(s.bodies)
	again.seen[wire.TypeWatchEvents] = nil
	again.backend.pods.Apply(pod("default/p5", uint64(end.ResourceVersion)+1, "web", "Running"), again.now)
	again.settle()
	for _, payload := range again.seen[wire.TypeWatchEvents] {
		var f wire.WatchEvents
		require.NoError(t, f.Parse(payload))
		for _, e := range f.Events {
			require.NotEqual(t, api.Added, e.Type)
		}
	}
	r.settle()
	require.Equal(t, r.objects(1), again.objects(1))
}

// The engine immediately refuses a restore whose chunk omits its body if the program
// has set no Loader.
func TestR11_OmittedBodyWithoutALoader(t *testing.T) {
	r := newRig(t)
	chunks, _, _ := r.persist(20, 0, 1000)
	again := r.restart()
	again.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", Restore: true})
	_, _, body, err := wire.Next(chunks[0])
	require.NoError(t, err)
	again.step(&wire.RestoreChunk{Collection: 1, Data: chunks[0][:len(chunks[0])-len(body)]})
	require.Len(t, again.rejections(), 1)
	require.Contains(t, again.rejections()[0], "with its body")
}

// For any frames in a body with a valid checksum, loading neither panics nor leaks a
// version, and lists contain every key once.
func FuzzLoad(f *testing.F) {
	p := pod("default/a", 5, "web", "Running")
	schema := (&wire.Schema{Subscription: 1, Schema: podSchema}).Append(nil)
	set := (&wire.LabelSet{Subscription: 1, ID: 3, Labels: api.Labels{{Key: "app", Value: "web"}}}).Append(nil)
	object := (&wire.SnapshotPart{Subscription: 1, Objects: []wire.Change{{Type: api.Added, ResourceVersion: 5, LabelSet: 3, Envelope: p.Envelope}}}).Append(nil)
	event := func(c wire.Change) []byte {
		c.ResourceVersion = 100
		return (&wire.Events{Subscription: 1, ResourceVersion: 100, Changes: []wire.Change{c}}).Append(nil)
	}
	modified := event(wire.Change{Type: api.Modified, LabelSet: 3, Envelope: pod("default/a", 100, "web", "Failed").Envelope})
	for _, body := range [][]byte{
		slices.Concat(schema, set, object), slices.Concat(set, object), slices.Concat(set, object, object), object, set, {},
		(&wire.Schema{Subscription: 1, Schema: podSchema, Dictionary: 7}).Append(nil),
	} {
		f.Add(body, uint32(1), "default/a", slices.Concat(set, modified))
		f.Add(body, uint32(2), "", event(wire.Change{Type: api.Deleted, Key: "default/a"}))
	}
	f.Fuzz(func(t *testing.T, body []byte, objects uint32, first string, events []byte) {
		r := newRig(t)
		r.load(3) // at version 100
		head := (&wire.SnapshotBegin{Subscription: 1, ResourceVersion: 99}).Append(slices.Clone(schema))
		at := uint32(len(head))
		head = (&wire.SnapshotEnd{Subscription: 1, ResourceVersion: 99}).Append(head)
		one := (&wire.Chunk{Resource: "v1/pods", Frames: head, Body: wire.ChunkBody{
			Objects: objects, First: api.Key(first), At: at, Bytes: uint32(len(body)), Sum: wire.BodySum(body),
		}}).Append(nil)
		two := (&wire.Chunk{Resource: "v1/pods", Frames: events, Last: true, Previous: wire.ChunkSum(one)}).Append(nil)
		s := r.handHeads([][]byte{append(one, body...), two})
		for rv := range uint64(2) {
			r.seen[wire.TypeListReply], r.seen[wire.TypeErrorReply] = nil, nil
			r.step(&wire.List{Request: 901, Collection: 1, ResourceVersion: "0", Bodies: true})
			r.later(60_000)                       // the engine subscribes again if the body is invalid
			if r.state().State == api.StateLive { // it does not wait for the version of the events
				require.Equal(t, 1, len(r.seen[wire.TypeListReply])+len(r.seen[wire.TypeErrorReply]))
			}
			for _, payload := range r.seen[wire.TypeListReply] {
				var f wire.ListReply
				require.NoError(t, f.Parse(payload))
				for i := range f.Items[:max(len(f.Items)-1, 0)] {
					require.Less(t, f.Items[i].Envelope.Key(), f.Items[i+1].Envelope.Key())
				}
			}
			r.backend.pods.Apply(pod("default/a", 101+rv, "api", "Running"), r.now)
			r.settle()
		}
		require.LessOrEqual(t, len(s.loaded), 1)
		held := r.inspect("collection.1.objects") + r.inspect("collection.1.history")
		require.LessOrEqual(t, r.inspect("collection.1.versions")-r.inspect("collection.1.deltas"), held)
	})
}
