package wire

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func expanded(t *testing.T, f *SnapshotBlock) *Block {
	var b Block
	require.Nil(t, f.Expand(&b, true))
	return &b
}

// block returns a block with the given envelopes. The parameter bodies is empty or
// contains the bodies of sampleBlock.
func block(t *testing.T, envelopes, bodies []byte, objects int) *SnapshotBlock {
	f := &SnapshotBlock{Subscription: 1, Objects: uint32(objects), Envelopes: uint32(len(envelopes)), Data: deflated(t, 6, envelopes, bodies)}
	if len(bodies) > 0 {
		f.Members, f.Bodies = sampleFrame.Members, sampleFrame.Bodies
		f.Data = slices.Concat(sampleFrame.Data, f.Data)
	}
	return f
}

func TestBlockRoundTrip(t *testing.T) {
	b := expanded(t, block(t, blockEnvelopes, blockBodies, 2))
	require.Equal(t, sampleBlock.LabelSets[0], b.LabelSets[0])
	require.Empty(t, b.LabelSets[1])
	require.Len(t, b.Objects, 2)
	for i, want := range sampleBlock.Objects {
		got := b.Objects[i]
		want.Type, want.Key = api.Added, want.Envelope.Key()
		if want.Base.Body.Data == nil {
			require.Empty(t, got.Base.Body.Data)
			got.Base.Body.Data = nil
		}
		require.Equal(t, want, got)
	}
}

func TestBlockWithoutBodiesHasTheEnvelopes(t *testing.T) {
	b := expanded(t, block(t, blockEnvelopes, nil, 2))
	for i, want := range sampleBlock.Objects {
		got := b.Objects[i]
		require.Equal(t, want.Envelope.AppendWithBody(nil, api.Body{}), []byte(got.Envelope))
		require.Equal(t, want.ResourceVersion, got.ResourceVersion)
		require.Zero(t, got.Base)
	}
}

// A persisted block can be expanded again, because Expand does not change its rows.
func TestStoredBlockExpandsAgain(t *testing.T) {
	all := BlockBodies{
		Objects: 2, Before: sampleFrame.Envelopes, Members: sampleFrame.Members, Bodies: sampleFrame.Bodies,
		Data: slices.Concat(sampleFrame.Data, deflated(t, 6, blockEnvelopes, blockBodies)),
	}
	bodies := BlockBodies{Objects: 2, Members: sampleFrame.Members, Bodies: sampleFrame.Bodies, Data: sampleData(blockBodies)}
	for _, f := range []StoredBlock{
		{Block: all, Members: []uint32{0, 1}},
		{Block: all, Members: []uint32{1}},
		{Block: bodies, Rows: slices.Clone(blockEnvelopes), Members: []uint32{0, 1}},
	} {
		var first, second Block
		require.Nil(t, f.Expand(&first))
		require.Nil(t, f.Expand(&second))
		require.Equal(t, first.Objects, second.Objects)
		require.Len(t, first.Objects, len(f.Members))
		for i, member := range f.Members {
			want := sampleBlock.Objects[member].Envelope
			require.Equal(t, want.AppendWithBody(nil, api.Body{Codec: want.Body().Codec}), []byte(first.Objects[i].Envelope))
		}
	}
}

// A block expanded without bodies contains the envelopes, and the codec, size and base
// version of each body. A BodyExpander then returns the same bodies as a full expansion.
func TestBodiesOfABlockAreDecompressedOnDemand(t *testing.T) {
	f := block(t, blockEnvelopes, blockBodies, 2)
	all := expanded(t, f)
	truncated := *f
	truncated.Data = slices.Concat(sampleFrame.Data, deflated(t, 6, blockEnvelopes, []byte("garbage")))
	for _, f := range []*SnapshotBlock{f, &truncated} {
		var rows Block
		require.Nil(t, f.Expand(&rows, false))
		require.Equal(t, []Member{{Codec: api.Packed, Size: 3}, {Codec: api.Delta, Size: 1, BaseCodec: api.Packed, BaseSize: 1, Behind: 39}}, rows.Members)
		for i, c := range rows.Objects {
			want := all.Objects[i]
			require.Equal(t, want.Envelope.AppendWithBody(nil, api.Body{Codec: want.Envelope.Body().Codec}), []byte(c.Envelope))
			require.Equal(t, want.ResourceVersion, c.ResourceVersion)
			require.Equal(t, want.Base.ResourceVersion, c.Base.ResourceVersion)
			require.Equal(t, want.Base.Body.Codec, c.Base.Body.Codec)
			require.Empty(t, c.Base.Body.Data)
		}
	}
	requireBodiesOnDemand(t, f, all)
}

// requireBodiesOnDemand checks that a BodyExpander returns the bodies of a block.
func requireBodiesOnDemand(t *testing.T, f *SnapshotBlock, all *Block) {
	if len(all.Members) == 0 {
		return
	}
	var x BodyExpander
	bodies := f.BlockBodies()
	require.True(t, x.Expand(&bodies))
	for i, c := range all.Objects {
		require.Equal(t, c.Envelope.Body().Codec, x.Member(2*i).Codec)
		require.Equal(t, string(c.Envelope.Body().Data), string(x.Member(2*i).Data))
		require.Equal(t, c.Base.Body.Codec, x.Member(2*i+1).Codec)
		require.Equal(t, string(c.Base.Body.Data), string(x.Member(2*i+1).Data))
	}
	require.Zero(t, x.Member(2*len(all.Objects)))
}

func TestBlockReusesItsMemoryWithoutMixingObjects(t *testing.T) {
	var b Block
	for range 3 {
		require.Nil(t, block(t, blockEnvelopes, blockBodies, 2).Expand(&b, true))
		require.Nil(t, block(t, blockEnvelopes, nil, 2).Expand(&b, true))
		require.Equal(t, api.NoBody, b.Objects[0].Envelope.Body().Codec)
		require.Zero(t, b.Objects[1].Base)
	}
}

func TestCorruptBlockIsAnError(t *testing.T) {
	good := block(t, blockEnvelopes, blockBodies, 2)
	var b Block
	for _, objects := range []uint32{0, 1, 3, 1 << 31} {
		f := *good
		f.Objects = objects
		require.NotNil(t, f.Expand(&b, true), "%d objects", objects)
	}
	for _, change := range [][3]uint32{
		{1, ^uint32(0), 0}, {^uint32(0), 1, 0}, {0, 1, 0}, {0, 1, ^uint32(0)}, {0, ^uint32(0), 0}, {0, ^uint32(0), 1}, {0, 0, 1}, {0, 0, ^uint32(0)},
		{-good.Envelopes, -good.Members, -good.Bodies}, {0, 1 << 20, 0}, {0, uint32(len(good.Data)), 0},
	} {
		f := *good
		f.Envelopes, f.Members, f.Bodies = f.Envelopes+change[0], f.Members+change[1], f.Bodies+change[2]
		require.NotNil(t, f.Expand(&b, true), change)
		if change[1] != 0 || change[2] != 0 {
			require.NotNil(t, f.Expand(&b, false), change)
		}
	}
	for i := int(good.Members); i < len(good.Data); i++ {
		f := *good
		f.Data = good.Data[:i]
		if i < len(good.Data)-10 { // before the empty blocks that end the stream
			require.NotNil(t, f.Expand(&b, true), "%d bytes", i)
		}
	}
	require.Contains(t, (&SnapshotBlock{Envelopes: 3, Data: []byte{7}}).Expand(&b, true).Message, "corrupt")
}

// A block of one kilobyte can claim a million objects or label sets. Expand does not
// allocate memory for such claims.
func TestClaimsOfABlockAllocateNothing(t *testing.T) {
	zeros := make([]byte, maxBlock-8)
	claims := map[string]*SnapshotBlock{
		"objects of the frame": {Objects: maxBlockObjects + 1, Envelopes: maxBlock, Data: deflated(t, 6, make([]byte, maxBlock))},
		"objects":              {Objects: 1 << 31, Envelopes: maxBlock, Data: deflated(t, 6, make([]byte, maxBlock))},
		"label sets":           block(t, append(appendUvarint(nil, uint64(len(zeros))), zeros...), nil, 1),
		"unused label sets":    block(t, append([]byte{3, 0, 0, 0}, blockEnvelopes[1:]...), nil, 2),
		"labels":               block(t, append(appendUvarint([]byte{1}, uint64(len(zeros)/2)), zeros...), nil, 1),
	}
	for name, f := range claims {
		_, payload, _, err := Next(f.Append(nil))
		require.NoError(t, err)
		parsed := new(SnapshotBlock)
		if parsed.Parse(payload) != nil {
			continue
		}
		var b Block
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status := parsed.Expand(&b, true)
		require.NotNil(t, status, name)
		require.Contains(t, status.Message, "corrupt", name)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*maxBlock), name)
	}
	most := block(t, appendUvarint(nil, 0), nil, maxBlockObjects)
	_, payload, _, err := Next(most.Append(nil))
	require.NoError(t, err)
	require.NoError(t, new(SnapshotBlock).Parse(payload))
	most.Objects++
	_, payload, _, err = Next(most.Append(nil))
	require.NoError(t, err)
	require.ErrorContains(t, new(SnapshotBlock).Parse(payload), "objects")
}

func TestBlockOfMoreThanAMebibyteIsRefused(t *testing.T) {
	for _, f := range []*SnapshotBlock{{Envelopes: maxBlock + 1}, {Bodies: maxBlock + 1}} {
		_, payload, _, err := Next(f.Append(nil))
		require.NoError(t, err)
		require.Error(t, new(SnapshotBlock).Parse(payload))
	}
}

// A body that is sent alone, without compression, may be larger than a section of a block.
// By default, etcd stores objects of up to 1.5 MiB.
func TestBodyOfMoreThanAMebibyteIsSentByItself(t *testing.T) {
	large := api.Body{Codec: api.JSON, Data: make([]byte, 2*maxBlock)}
	b := Block{Objects: []Change{{ResourceVersion: 7, Envelope: envelope(api.Object{Key: "default/a", Body: large})}}}
	f := SnapshotBodies{Subscription: 1, First: "default/a", Objects: 1, Data: b.AppendMembers(nil)}
	f.Members = uint32(len(f.Data))
	f.Data = b.AppendBodies(f.Data)
	_, payload, _, err := Next(f.Append(nil))
	require.NoError(t, err)
	var parsed SnapshotBodies
	require.NoError(t, parsed.Parse(payload))
	bodies, status := parsed.Expand(new(Block), []api.ResourceVersion{7})
	require.Nil(t, status)
	require.Len(t, bodies, 1)
	require.Equal(t, large, bodies[0].Body)
}

// FuzzBlock checks that arbitrary sections never cause a panic, and that accepted
// sections encode to an equal block.
func FuzzBlock(f *testing.F) {
	f.Add(blockEnvelopes, sampleFrame.Data, blockBodies, 2)
	f.Add(blockEnvelopes, []byte(nil), []byte(nil), 2)
	f.Fuzz(func(t *testing.T, envelopes, members, bodies []byte, objects int) {
		if len(envelopes)+len(members)+len(bodies) > 60_000 {
			return
		}
		frame := SnapshotBlock{
			Objects: uint32(objects), Envelopes: uint32(len(envelopes)), Members: uint32(len(members)), Bodies: uint32(len(bodies)),
			Data: slices.Concat(members, storedBlock(slices.Concat(envelopes, bodies))),
		}
		var b, again Block
		if status := frame.Expand(&b, true); status != nil {
			return
		}
		requireBodiesOnDemand(t, &frame, &b)
		for i := range b.Objects {
			require.NoError(t, b.Objects[i].Envelope.Validate())
		}
		first, second := b.Encode(&frame, nil, nil)
		if len(members) == 0 {
			frame.Members, frame.Data, second = 0, nil, nil
		}
		frame.Data = append(frame.Data, storedBlock(append(first, second...))...)
		if len(frame.Data) > 65_000 {
			return
		}
		require.Nil(t, frame.Expand(&again, true))
		require.Equal(t, b.Objects, again.Objects)
		require.Equal(t, b.LabelSets, again.LabelSets)
	})
}
