package core

import (
	"bytes"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// siblingPod returns a pod whose body differs from those of its siblings only in the
// name.
func siblingPod(key string, rv uint64) *cacher.Update {
	p := pod(key, rv, []string{"web", "api"}[rv%2], "Running")
	body := `{"kind":"Pod","metadata":{"name":"` + key + `"},"spec":"` + strings.Repeat("the same text of all siblings ", 10) + `"}`
	p.Envelope = p.Envelope.AppendWithBody(nil, api.Body{Codec: api.JSON, Data: []byte(body)})
	return p
}

// newBlockRig returns a rig with n siblings in two namespaces, which the connector sends in blocks.
func newBlockRig(t *testing.T, n int) *rig {
	r := newRig(t)
	r.config = session.Config{Deflate: deflate.Sections}
	r.backend.pods.Listing().Begin()
	for i := range n {
		require.Nil(t, r.backend.pods.Listing().Object(siblingPod([]string{"default/p", "kube-system/p"}[i*2/n]+strconv.Itoa(1000+i), uint64(i%100+1))))
	}
	r.backend.pods.Listing().End(100, r.now)
	return r
}

// changeSibling changes, adds or deletes a sibling.
func (r *rig) changeSibling(random *rand.Rand, rv *uint64) {
	*rv++
	key := "default/p" + strconv.Itoa(1000+random.Intn(400))
	if random.Intn(4) == 0 {
		r.backend.pods.Delete(api.Key(key), api.ResourceVersion(*rv), r.now)
	} else {
		r.backend.pods.Apply(siblingPod(key, *rv), r.now)
	}
	r.settle()
}

// A persisted state contains the blocks of its collection. Restoring it yields the same
// collection, even if the rows were received before the bodies (R11, B34).
func TestR11_BlocksArePersistedAsTheyAre(t *testing.T) {
	for seed := range int64(20) {
		random := rand.New(rand.NewSource(seed))
		r := newBlockRig(t, 400)
		r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", RowsFirst: seed%2 == 1})
		require.Positive(t, r.inspect("collection.1.blocks"))
		rv := uint64(100)
		change := func() {
			for range random.Intn(3) {
				r.changeSibling(random, &rv)
			}
		}
		size := uint32([]int{1, 5_000, 40_000, 0}[random.Intn(4)])
		change()
		chunks, end := r.snapshot(wire.TakeSnapshot{Collection: 1, ChunkBytes: size}, change)
		require.Less(t, len(slices.Concat(chunks...)), 400*300, "bodies have 360 bytes")
		change()
		more, _ := r.snapshot(wire.TakeSnapshot{Collection: 1, ChunkBytes: size, ResourceVersion: end.ResourceVersion, ClusterID: end.ClusterID}, change)
		chunks = append(chunks, more...)
		want := r.objects(1)

		eager := r.restart()
		eager.cut()
		eager.hand(chunks)
		require.Empty(t, eager.rejections())
		require.Positive(t, eager.inspect("collection.1.blocks"))
		require.Equal(t, want, eager.objects(1))
		again, _ := eager.snapshot(wire.TakeSnapshot{Collection: 1, ChunkBytes: size}, func() {})
		next := eager.restart()
		next.cut()
		next.hand(again)
		require.Equal(t, want, next.objects(1), "a restored state is persisted again")

		lazy := r.restart()
		lazy.cut()
		lazy.handHeads(chunks)
		require.Empty(t, lazy.rejections())
		require.InEpsilon(t, r.engine.usedBytes(), lazy.engine.usedBytes(), 0.25)
		require.Equal(t, want, lazy.objects(1))
	}
}

// A restore does not decompress blocks. If a block turns out to be corrupt when it is
// read, the read fails, and the collection is loaded again (R11, C53).
func TestR11_PersistedBlockThatIsCorrupt(t *testing.T) {
	for name, spoil := range map[string]func(*wire.StoredBlock){
		"garbage": func(f *wire.StoredBlock) {
			f.Block.Data = append(f.Block.Data[:len(f.Block.Data)/2], bytes.Repeat([]byte{0xff}, 100)...)
		},
		"truncated": func(f *wire.StoredBlock) { f.Block.Data = f.Block.Data[:len(f.Block.Data)/2] },
	} {
		for _, read := range []wire.Frame{
			&wire.Get{Request: 901, Collection: 1, Key: "default/p1005"},
			&wire.List{Request: 901, Collection: 1, ResourceVersion: "0", Bodies: true},
			&wire.OpenWatch{Watch: 7, Collection: 1, Bodies: true},
		} {
			t.Run(name, func(t *testing.T) {
				r := newBlockRig(t, 40)
				r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", RowsFirst: true})
				chunks, _ := r.snapshot(wire.TakeSnapshot{Collection: 1}, func() {})
				want := r.objects(1)
				again := r.restart()
				again.cut()
				again.hand(spoilBlocks(t, chunks, spoil))
				again.step(read.(interface{ Append([]byte) []byte }))
				again.now += 1000
				again.step(&wire.Inspect{Request: 902})
				require.Empty(t, again.seen[wire.TypeObjectReply])
				require.Empty(t, again.seen[wire.TypeListReply])
				require.Empty(t, again.seen[wire.TypeWatchEvents])
				require.Len(t, again.rejections(), 1)
				again.seen[wire.TypeErrorReply] = nil
				for range 40 {
					again.now += 1000
					again.step(&wire.Inspect{Request: 903})
				}
				require.Equal(t, want, again.objects(1))
			})
		}
	}
}

// Corrupt bodies in a list are not reported as an error in the previously restored state.
// The collection reports the corrupt bodies, and lists again after a delay (B27, B34).
func TestCorruptBodiesOfAListAreNotBlamedOnTheStoredState(t *testing.T) {
	r := newBlockRig(t, 0)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	chunks, _ := r.snapshot(wire.TakeSnapshot{Collection: 1}, func() {})
	source := newBlockRig(t, 40)
	source.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	want := source.objects(1)

	again, spoiled := newRig(t), true
	again.backend = newBlockRig(t, 40).backend
	again.backend.pods.Delete("default/absent", 200, r.now)
	again.backend.pods.Watches().ForgetHistory(200)
	again.config.Deflate = func(dst, envelopes, bodies []byte) ([]byte, int) {
		data, end := deflate.Sections(dst, envelopes, bodies)
		if spoiled {
			data = data[:end+(len(data)-end)/2]
		}
		return data, end
	}
	again.hand(chunks)
	require.EqualValues(t, 1, again.inspect("collection.1.relists"))
	again.step(&wire.Get{Request: 901, Collection: 1, Key: "default/p1005"})
	require.Empty(t, again.seen[wire.TypeObjectReply])
	require.Empty(t, again.rejections())
	require.EqualValues(t, 1, again.inspect("collection.1.corruptBodies"))
	require.Contains(t, again.state().Status.Message, "a block of bodies is corrupt")
	require.Zero(t, again.inspect("collection.1.objects"), "the next list waits")

	spoiled, again.backend = false, newBlockRig(t, 40).backend // a connector without cached blocks
	again.backend.pods.Delete("default/absent", 200, r.now)
	for range 4 {
		again.now += 1000
		again.step(&wire.Inspect{Request: 903})
	}
	require.Equal(t, want, again.objects(1))
	require.Empty(t, again.rejections())
}

// spoilBlocks returns the chunks after spoil has changed the first block, with new
// checksums.
func spoilBlocks(t *testing.T, chunks [][]byte, spoil func(*wire.StoredBlock)) (spoiled [][]byte) {
	previous, done := uint64(0), false
	for _, data := range chunks {
		_, payload, body, err := wire.Next(data)
		require.NoError(t, err)
		var chunk wire.Chunk
		require.NoError(t, chunk.Parse(payload))
		var frames []byte
		for len(body) > 0 {
			typ, payload, rest, err := wire.Next(body)
			require.NoError(t, err)
			frame := body[:len(body)-len(rest)]
			if typ == wire.TypeStoredBlock && !done {
				var f wire.StoredBlock
				require.NoError(t, f.Parse(payload))
				spoil(&f)
				frame, done = f.Append(nil), true
			}
			frames, body = append(frames, frame...), rest
		}
		chunk.Previous, chunk.Body.Bytes, chunk.Body.Sum = previous, uint32(len(frames)), wire.BodySum(frames)
		head := chunk.Append(nil)
		previous = wire.ChunkSum(head)
		spoiled = append(spoiled, append(head, frames...))
	}
	require.True(t, done)
	return spoiled
}

// Applying a list in blocks loads the segments of the restored state that the list
// replaces. These segments contain blocks too (R11, B34).
func TestR11_RelistInBlocksAfterALazyRestore(t *testing.T) {
	r := newBlockRig(t, 400)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	chunks, _ := r.snapshot(wire.TakeSnapshot{Collection: 1, ChunkBytes: 20_000}, func() {})
	random, rv := rand.New(rand.NewSource(1)), uint64(100)
	for range 30 {
		r.changeSibling(random, &rv)
	}
	again := r.restart()
	again.backend.pods.Watches().ForgetHistory(again.backend.pods.ResourceVersion())
	s := again.handHeads(chunks)
	require.Empty(t, again.rejections())
	require.EqualValues(t, 1, again.inspect("collection.1.relists"))
	require.Len(t, s.loaded, len(chunks))
	require.Equal(t, r.objects(1), again.objects(1))
	require.Equal(t, r.inspect("collection.1.labelSets"), again.inspect("collection.1.labelSets"))
}

// storedSiblings returns a block of three pods of one ReplicaSet. The stored state lists only
// two of the pods as members of the block.
func storedSiblings() *wire.StoredBlock {
	block := wire.Block{LabelSets: []api.Labels{nil}}
	f := &wire.StoredBlock{Block: wire.BlockBodies{Objects: 3}}
	for i := range 3 {
		p := siblingPod("default/s"+strconv.Itoa(i), uint64(i+1))
		block.Objects = append(block.Objects, wire.Change{ResourceVersion: p.ResourceVersion, Envelope: p.Envelope})
		if i != 1 {
			f.Members = append(f.Members, uint32(i))
		}
	}
	var frame wire.SnapshotBlock
	envelopes, bodies := block.Encode(&frame, nil, nil)
	frame.Data, _ = deflate.Sections(frame.Data, envelopes, bodies)
	f.Block = frame.BlockBodies()
	return f
}
