package wire

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func expanded(t *testing.T, f *SnapshotBlock) *Block {
	var b Block
	require.Nil(t, f.Expand(&b))
	return &b
}

func block(t *testing.T, envelopes, bodies []byte, objects int) *SnapshotBlock {
	sections := append(append([]byte{}, envelopes...), bodies...)
	return &SnapshotBlock{
		Subscription: 1, Objects: uint32(objects), Envelopes: uint32(len(envelopes)), Bodies: uint32(len(bodies)),
		Data: deflated(t, 6, sections),
	}
}

func TestBlockRoundTrip(t *testing.T) {
	b := expanded(t, block(t, blockEnvelopes, blockBodies, 2))
	require.Equal(t, sampleBlock.LabelSets[0], b.LabelSets[0])
	require.Empty(t, b.LabelSets[1])
	require.Len(t, b.Objects, 2)
	for i, want := range sampleBlock.Objects {
		got := b.Objects[i]
		want.Type, want.Key = api.Added, want.Envelope.Key()
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

func TestBlockReusesItsMemoryWithoutMixingObjects(t *testing.T) {
	var b Block
	for range 3 {
		require.Nil(t, block(t, blockEnvelopes, blockBodies, 2).Expand(&b))
		require.Nil(t, block(t, blockEnvelopes, nil, 2).Expand(&b))
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
		require.NotNil(t, f.Expand(&b), "%d objects", objects)
	}
	for _, sections := range [][2]uint32{{good.Envelopes + 1, good.Bodies - 1}, {good.Envelopes - 1, good.Bodies + 1}, {good.Envelopes, good.Bodies + 1}, {good.Envelopes, good.Bodies - 1}, {0, 0}} {
		f := *good
		f.Envelopes, f.Bodies = sections[0], sections[1]
		require.NotNil(t, f.Expand(&b), sections)
	}
	for i := range good.Data {
		f := *good
		f.Data = good.Data[:i]
		if i < len(good.Data)-10 { // before the empty blocks that end the stream
			require.NotNil(t, f.Expand(&b), "%d bytes", i)
		}
	}
	require.Contains(t, (&SnapshotBlock{Envelopes: 3, Data: []byte{7}}).Expand(&b).Message, "corrupt")
}

// A block of a kilobyte can claim a million objects or label sets. Expand does not
// allocate them.
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
		status := parsed.Expand(&b)
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

// FuzzBlock checks that arbitrary sections never panic, and that accepted sections encode
// to an equal block.
func FuzzBlock(f *testing.F) {
	f.Add(blockEnvelopes, blockBodies, 2)
	f.Add(blockEnvelopes, []byte(nil), 2)
	f.Fuzz(func(t *testing.T, envelopes, bodies []byte, objects int) {
		if len(envelopes)+len(bodies) > 60_000 {
			return
		}
		frame := SnapshotBlock{
			Objects: uint32(objects), Envelopes: uint32(len(envelopes)), Bodies: uint32(len(bodies)),
			Data: storedBlock(append(append([]byte{}, envelopes...), bodies...)),
		}
		var b, again Block
		if frame.Expand(&b) != nil {
			return
		}
		for i := range b.Objects {
			require.NoError(t, b.Objects[i].Envelope.Validate())
		}
		first, second := b.AppendSections(nil, nil)
		if len(bodies) == 0 {
			second = nil
		}
		frame.Envelopes, frame.Bodies = uint32(len(first)), uint32(len(second))
		frame.Data = storedBlock(append(first, second...))
		if len(frame.Data) > 65_000 {
			return
		}
		require.Nil(t, frame.Expand(&again))
		require.Equal(t, b.Objects, again.Objects)
		require.Equal(t, b.LabelSets, again.LabelSets)
	})
}
