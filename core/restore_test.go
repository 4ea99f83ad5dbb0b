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

// snapshot returns all chunks of a new snapshot. Before each request for a further chunk,
// it calls the function between.
func (r *rig) snapshot(f wire.TakeSnapshot, between func()) (chunks [][]byte, end wire.SnapshotChunk) {
	f.Request = 900
	r.seen[wire.TypeSnapshotChunk] = nil
	r.step(&f)
	for {
		require.Empty(r.t, r.seen[wire.TypeErrorReply])
		require.Len(r.t, r.seen[wire.TypeSnapshotChunk], len(chunks)+1, "one chunk per request")
		require.NoError(r.t, end.Parse(r.seen[wire.TypeSnapshotChunk][len(chunks)]))
		chunks = append(chunks, end.Data)
		if end.Last {
			return chunks, end
		}
		between()
		r.step(&wire.NextChunk{Request: 900})
	}
}

// objects lists a collection. It returns the version, the first label and the
// envelope of each object as one text.
func (r *rig) objects(collection uint32) []string {
	r.seen[wire.TypeListReply] = nil
	r.step(&wire.List{Request: 901, Collection: collection, ResourceVersion: "0", Bodies: true})
	require.Len(r.t, r.seen[wire.TypeListReply], 1)
	var f wire.ListReply
	require.NoError(r.t, f.Parse(r.seen[wire.TypeListReply][0]))
	r.listed = f.ResourceVersion
	var texts []string
	for _, it := range f.Items {
		texts = append(texts, it.ResourceVersion.String()+string(it.Labels[0].Value)+string(it.Envelope))
	}
	return texts
}

func (r *rig) rejections() (messages []string) {
	for _, payload := range r.seen[wire.TypeRejected] {
		var f wire.Rejected
		require.NoError(r.t, f.Parse(payload))
		require.Equal(r.t, wire.ObjectRestore, f.Object)
		messages = append(messages, f.Status.Message)
	}
	return messages
}

// restart returns a new engine with the same connector.
func (r *rig) restart() *rig {
	next := newRig(r.t)
	next.backend, next.config, next.now = r.backend, r.config, r.now
	return next
}

func (r *rig) hand(chunks [][]byte) {
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", Restore: true})
	for _, chunk := range chunks {
		data := slices.Clone(chunk)
		r.step(&wire.RestoreChunk{Collection: 1, Data: data})
	}
	r.step(&wire.RestoreChunk{Collection: 1, End: true})
}

func (r *rig) churn(random *rand.Rand, rv *uint64) {
	*rv++
	key := "default/p" + strconv.Itoa(random.Intn(120))
	if random.Intn(4) == 0 {
		r.backend.pods.Delete(api.Key(key), api.ResourceVersion(*rv), r.now)
	} else {
		r.backend.pods.Apply(pod(key, *rv, []string{"web", "api", "v" + strconv.Itoa(int(*rv%50))}[random.Intn(3)], "Running"), r.now)
	}
	r.settle()
}

// A changing collection is persisted as a snapshot and any number of increments, in chunks of any
// size. Restoring them yields the same collection, byte for byte. A prefix that ends within a
// snapshot is refused entirely (G9, R11).
func TestR11_RestoreOfAPersistedState(t *testing.T) {
	for seed := range int64(20) {
		random := rand.New(rand.NewSource(seed))
		r := newRig(t)
		r.load(100)
		r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
		rv := uint64(100)
		change := func() {
			for range random.Intn(3) {
				r.churn(random, &rv)
			}
		}
		size := uint32([]int{1, 300, 2000, 0}[random.Intn(4)])
		stored, end := r.snapshot(wire.TakeSnapshot{Collection: 1, ChunkBytes: size}, change)
		require.True(t, end.Whole)
		ends := []int{len(stored)} // the end of each snapshot
		for range random.Intn(4) {
			change()
			var more [][]byte
			more, end = r.snapshot(wire.TakeSnapshot{
				Collection: 1, ChunkBytes: size, ResourceVersion: end.ResourceVersion, ClusterID: end.ClusterID,
			}, change)
			require.False(t, end.Whole)
			stored = append(stored, more...)
			ends = append(ends, len(stored))
		}
		want := r.objects(1)
		require.Equal(t, r.listed, end.ResourceVersion)

		again := r.restart()
		again.hand(stored)
		require.Empty(t, again.rejections())
		require.Equal(t, api.StateLive, again.state().State)
		require.Equal(t, want, again.objects(1))

		partly := r.restart()
		n := 1 + random.Intn(len(stored))
		partly.hand(stored[:n])
		require.Equal(t, slices.Contains(ends, n), len(partly.rejections()) == 0)
		require.Equal(t, want, partly.objects(1), "the connector sends the missing objects")

		broken := r.restart()
		chunks := slices.Clone(stored)
		spoil := slices.Clone(chunks[random.Intn(len(chunks))])
		spoil[random.Intn(len(spoil))] ^= byte(1 << random.Intn(8))
		chunks[slices.IndexFunc(chunks, func(c []byte) bool { return len(c) == len(spoil) && differ(c, spoil) == 1 })] = spoil
		broken.hand(chunks)
		require.Len(t, broken.rejections(), 1)
		require.Equal(t, want, broken.objects(1))
	}
}

// differ counts the bytes in which two slices of equal length differ.
func differ(a, b []byte) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// Until the last chunk of a restore has arrived, no persisted state is visible, and the
// connector receives no request.
func TestR11_RestoreIsAtomic(t *testing.T) {
	r := newRig(t)
	r.load(100)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	stored, _ := r.snapshot(wire.TakeSnapshot{Collection: 1, ChunkBytes: 2000}, func() {})
	require.Greater(t, len(stored), 4)
	want := r.objects(1)

	r = r.restart()
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", Restore: true})
	r.step(&wire.OpenCollection{Collection: 2, Resource: "v1/pods", Restore: true})
	r.step(&wire.OpenView{View: 1, Collection: 2, Limit: 3})
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1})
	r.step(&wire.Get{Request: 1, Collection: 1, Key: "default/p1"})
	for i, chunk := range stored {
		r.step(&wire.RestoreChunk{Collection: 2, Data: chunk}) // ignored, because collection 1 supplies the state
		r.step(&wire.RestoreChunk{Collection: 1, Data: chunk})
		require.Equal(t, api.StateConnecting, r.state().State, "after chunk %d", i)
		r.now += 40_000
		for _, typ := range []wire.Type{wire.TypeCollectionSchema, wire.TypeViewPatch, wire.TypeWatchEvents, wire.TypeObjectReply, wire.TypeErrorReply} {
			require.Empty(t, r.seen[typ])
		}
	}
	r.step(&wire.RestoreChunk{Collection: 2, End: true})
	require.Equal(t, api.StateConnecting, r.state().State)
	r.step(&wire.RestoreChunk{Collection: 1, End: true})
	require.Empty(t, r.seen[wire.TypeRejected])
	require.NotEmpty(t, r.seen[wire.TypeViewPatch])
	require.NotEmpty(t, r.seen[wire.TypeWatchEvents])
	require.Len(t, r.seen[wire.TypeObjectReply], 1)
	require.Equal(t, want, r.objects(2))

	// If the collection that supplies the state is closed, the other collections of
	// its scope load their state from the connector.
	r = r.restart()
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", Restore: true})
	r.step(&wire.OpenCollection{Collection: 2, Resource: "v1/pods"})
	r.step(&wire.RestoreChunk{Collection: 1, Data: stored[0]})
	r.step(&wire.CloseCollection{Collection: 1})
	r.step(&wire.RestoreChunk{Collection: 1, Data: stored[1], End: true})
	require.Equal(t, want, r.objects(2))
	require.Empty(t, r.seen[wire.TypeRejected])
}

// FuzzRestore checks that a restore is atomic: a collection has all of a state
// or none of it, for any input and checksum.
func FuzzRestore(f *testing.F) {
	frames := (&wire.Schema{Subscription: 1, Schema: podSchema}).Append(nil)
	frames = (&wire.SnapshotBegin{Subscription: 1, ResourceVersion: 9}).Append(frames)
	frames = (&wire.LabelSet{Subscription: 1, ID: 3, Labels: api.Labels{{Key: "app", Value: "web"}}}).Append(frames)
	p := pod("default/a", 5, "web", "Running")
	frames = (&wire.SnapshotPart{Subscription: 1, Objects: []wire.Change{{Type: api.Added, ResourceVersion: 5, LabelSet: 3, Envelope: p.Envelope}}}).Append(frames)
	end := (&wire.SnapshotEnd{Subscription: 1, ResourceVersion: 9}).Append(nil)
	event := (&wire.Events{Subscription: 1, ResourceVersion: 10, Changes: []wire.Change{{Type: api.Deleted, ResourceVersion: 10, Key: "default/a"}}}).Append(nil)
	f.Add(slices.Concat(frames, end), event, uint64(0))
	f.Add(slices.Concat(frames, end), event, uint64(9))
	f.Add(frames, end, uint64(0))
	f.Add(frames, frames, uint64(0))
	f.Add(end, event, uint64(0))
	f.Add((&wire.Schema{Subscription: 1, Dictionary: 3}).Append(nil), event, uint64(0))
	begin := (&wire.SnapshotBegin{Subscription: 1, ResourceVersion: 9}).Append((&wire.Schema{Subscription: 1, Schema: podSchema}).Append(nil))
	f.Add((&wire.SnapshotEnd{Subscription: 1, ResourceVersion: 9}).Append(storedSiblings().Append(begin)), event, uint64(9))
	f.Fuzz(func(t *testing.T, first, second []byte, from uint64) {
		r := newRig(t)
		r.load(3)
		one := (&wire.Chunk{Resource: "v1/pods", Frames: first, Last: from != 0}).Append(nil)
		two := wire.Chunk{Resource: "v1/pods", Frames: second, Last: true, From: api.ResourceVersion(from)}
		if from == 0 {
			two.Previous = wire.ChunkSum(one)
		}
		r.hand([][]byte{one, two.Append(nil)})
		require.LessOrEqual(t, len(r.rejections()), 1)
		if len(r.rejections()) == 1 {
			require.Len(t, r.objects(1), 3)
			return
		}
		r.step(&wire.List{Request: 901, Collection: 1, ResourceVersion: "0", Bodies: true})
		if len(r.rejections()) == 1 { // a block turned out to be corrupt
			require.Len(t, r.objects(1), 3)
		}
	})
}

// A collection that is opened during the restore of another one with the same scope
// shares the restored state. The state is not live before the connector confirms it.
func TestCollectionOpenedDuringARestoreSharesItsState(t *testing.T) {
	r := newRig(t)
	r.load(3)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	stored, _ := r.snapshot(wire.TakeSnapshot{Collection: 1}, func() {})
	next := r.restart()
	next.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", Restore: true})
	next.step(&wire.OpenCollection{Collection: 2, Resource: "v1/pods"})
	for _, chunk := range stored {
		next.step(&wire.RestoreChunk{Collection: 1, Data: slices.Clone(chunk)})
	}
	next.step(&wire.RestoreChunk{Collection: 1, End: true})
	require.Len(t, next.objects(2), 3)
	var states []api.State
	for _, payload := range next.seen[wire.TypeCollectionState] {
		var f wire.CollectionState
		require.NoError(t, f.Parse(payload))
		if f.Collection == 2 {
			states = append(states, f.State)
		}
		if f.State == api.StateReconnecting {
			require.EqualValues(t, 3, f.Objects)
			require.NotZero(t, f.LastProgressMillis)
		}
	}
	require.Equal(t, []api.State{api.StateConnecting, api.StateReconnecting, api.StateLive}, states)
}
