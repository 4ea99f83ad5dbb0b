package body_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
)

// updates are typical changes by controllers to the pod in testdata.
var updates = []struct {
	name   string
	change *strings.Replacer
	most   int // maximum size of the delta in bytes
}{
	{"Nothing", strings.NewReplacer(), 8},
	{"Counter", strings.NewReplacer(`"restartCount":0`, `"restartCount":1`), 12},
	{"LongerCounter", strings.NewReplacer(`"restartCount":0`, `"restartCount":117`), 16},
	{"Label", strings.NewReplacer(`"labels":{`, `"labels":{"canary":"yes",`), 30},
	{"Readiness", strings.NewReplacer(`"ready":true`, `"ready":false`, `"status":"True"`, `"status":"False"`), 70},
	{"Times", strings.NewReplacer("2026-01-12T08:21", "2026-01-13T19:55"), 100},
}

func TestDeltaIsSmallAndRoundTrips(t *testing.T) {
	dictionary := podSkeleton
	for _, dict := range [][]byte{nil, dictionary} {
		e := encoder(t, dict)
		for _, u := range updates {
			changed := []byte(u.change.Replace(string(pod)))
			packed, ok := e.EncodeDelta([]byte("before"), pod, changed, 1000)
			require.True(t, ok, u.name)
			require.Equal(t, api.Delta, packed.Codec)
			require.LessOrEqual(t, len(packed.Data), u.most, u.name)
			plain, err := body.Decode([]byte("in front "), packed, dict, pod)
			require.NoError(t, err, u.name)
			require.Equal(t, "in front "+string(changed), string(plain), u.name)
		}
	}
}

func TestDeltaOfEverything(t *testing.T) {
	e := encoder(t, nil)
	large := bytes.Repeat(pod, 50) // larger than the maximum size of a dictionary
	random := make([]byte, 70_000)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(random); i++ {
		random[i] = byte(r.Uint32())
	}
	texts := [][]byte{nil, []byte("{}"), []byte("abcdef"), pod, large, random, bytes.Repeat([]byte("a"), 200_000)}
	for _, base := range texts {
		for _, text := range texts {
			packed, ok := e.EncodeDelta(nil, base, text, 1<<20)
			require.True(t, ok)
			plain, err := body.Decode(nil, packed, nil, base)
			require.NoError(t, err)
			require.True(t, bytes.Equal(text, plain))
		}
	}
}

func TestDeltaLimits(t *testing.T) {
	e := encoder(t, nil)
	other := pods(3, 1)[0]
	packed, ok := e.EncodeDelta(nil, pod, other, 1<<20)
	require.True(t, ok)
	_, ok = e.EncodeDelta(nil, pod, other, len(packed.Data))
	require.True(t, ok)
	_, ok = e.EncodeDelta(nil, pod, other, len(packed.Data)-1)
	require.False(t, ok, "the limit is the most it takes")
	_, ok = e.EncodeDelta(nil, pod, make([]byte, 256<<10+1), 1<<20)
	require.False(t, ok)
}

func TestDeltaWithTheWrongBase(t *testing.T) {
	e := encoder(t, nil)
	packed, ok := e.EncodeDelta(nil, pod, []byte(strings.Replace(string(pod), "Running", "Failed", 1)), 1000)
	require.True(t, ok)
	_, err := body.Decode(nil, packed, nil, nil)
	require.ErrorContains(t, err, "500 InternalError: body is not a valid block")
}

func TestDeltaDoesNotAllocate(t *testing.T) {
	e := encoder(t, podSkeleton)
	changed := []byte(strings.Replace(string(pod), "Running", "Failed", 1))
	dst := make([]byte, 0, 1000)
	require.Zero(t, testing.AllocsPerRun(100, func() { e.EncodeDelta(dst, pod, changed, 1000) }))
}

// FuzzDelta checks that each encoded delta decodes to the original JSON.
func FuzzDelta(f *testing.F) {
	dictionary := pod[:600]
	for _, u := range updates {
		f.Add(pod[300:1500], []byte(u.change.Replace(string(pod[300:1500]))), true)
		f.Add(pod[300:1500], []byte(u.change.Replace(string(pod))), false)
	}
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaa"), bytes.Repeat([]byte("a"), 900), true)
	encoders := map[bool]*body.Encoder{true: encoder(f, dictionary), false: encoder(f, nil)}
	f.Fuzz(func(t *testing.T, base, text []byte, shared bool) {
		var dict []byte
		if shared {
			dict = dictionary
		}
		packed, ok := encoders[shared].EncodeDelta(nil, base, text, 1<<20)
		require.True(t, ok)
		plain, err := body.Decode(nil, packed, dict, base)
		require.NoError(t, err)
		require.True(t, bytes.Equal(text, plain))
	})
}

// FuzzDecodeDelta checks that the decoder does not panic for any block with any base, and
// that a successful result has the length that the block states.
func FuzzDecodeDelta(f *testing.F) {
	packed, _ := encoder(f, nil).EncodeDelta(nil, pod[:500], pod[100:900], 1<<20)
	f.Add(packed.Data, pod[:500])
	f.Fuzz(func(t *testing.T, block, base []byte) {
		if claimsMuch(block) {
			return
		}
		plain, err := body.Decode(nil, api.Body{Codec: api.Delta, Data: block}, nil, base)
		if err == nil {
			n, _ := binary.Uvarint(block)
			require.EqualValues(t, n, len(plain))
		}
	})
}

// BenchmarkDelta encodes pods, each with one of the updates. The reported bytes are
// the size of the delta.
func BenchmarkDelta(b *testing.B) {
	dictionary := podSkeleton
	bases := pods(2, 500)
	targets := make([][]byte, len(bases))
	for i, base := range bases {
		targets[i] = []byte(updates[1+i%(len(updates)-1)].change.Replace(string(base)))
	}
	e := encoder(b, dictionary)
	encoded, total := make([]api.Body, len(bases)), 0
	for i := range bases {
		encoded[i], _ = e.EncodeDelta(nil, bases[i], targets[i], 1<<20)
		total += len(encoded[i].Data)
	}
	report := func(b *testing.B) {
		b.ReportAllocs()
		b.ResetTimer()
		b.ReportMetric(float64(total)/float64(len(bases)), "bytes/object")
	}
	dst := make([]byte, 0, 64<<10)
	b.Run("Encode", func(b *testing.B) {
		report(b)
		for i := range b.N {
			e.EncodeDelta(dst, bases[i%len(bases)], targets[i%len(bases)], 1<<20)
		}
	})
	b.Run("Decode", func(b *testing.B) {
		report(b)
		for i := range b.N {
			if _, err := body.Decode(dst, encoded[i%len(bases)], dictionary, bases[i%len(bases)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
