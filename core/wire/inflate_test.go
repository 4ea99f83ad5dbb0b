package wire

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// deflated compresses the pieces to one deflate stream, with a flush after each piece.
func deflated(t testing.TB, level int, pieces ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, level)
	require.NoError(t, err)
	for _, piece := range pieces {
		_, err := w.Write(piece)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// texts returns texts with different statistics. Their compressed forms contain codes of
// all lengths, distant copies and overlapping copies.
func texts() [][]byte {
	random := rand.New(rand.NewSource(1))
	noise := make([]byte, 100_000)
	random.Read(noise)
	skewed := make([]byte, 200_000)
	for i := range skewed {
		skewed[i] = byte(min(random.ExpFloat64()*9, 255))
	}
	words := []byte{}
	for range 30_000 {
		words = append(words, noise[random.Intn(300):][:1+random.Intn(8)]...)
	}
	return [][]byte{
		nil, {7}, []byte("aaaaaaaaaaaaaaaaaaaa"), []byte(strings.Repeat("a", 70_000)), noise, skewed, words,
		append(append(append([]byte{}, noise[:40_000]...), words...), noise[:30_000]...),
	}
}

func TestInflateDecodesWhatTheStandardLibraryEncodes(t *testing.T) {
	var f inflater
	for _, text := range texts() {
		for _, level := range []int{flate.NoCompression, flate.BestSpeed, 6, flate.BestCompression, flate.HuffmanOnly} {
			got := make([]byte, len(text))
			require.True(t, f.inflate(got, deflated(t, level, text)), "%d bytes at level %d", len(text), level)
			require.True(t, bytes.Equal(text, got), "%d bytes at level %d", len(text), level)
		}
	}
}

func TestInflateNeedsTheStreamOnlyUpToTheEndOfTheOutput(t *testing.T) {
	var f inflater
	for _, text := range texts() {
		stream := deflated(t, 6, text, []byte("more"))
		start := stream[:bytes.LastIndex(stream, []byte{0, 0, 0xff, 0xff})]
		got := make([]byte, len(text))
		require.True(t, f.inflate(got, start))
		require.True(t, bytes.Equal(text, got))
	}
}

func TestInflateRefusesATruncatedStream(t *testing.T) {
	var f inflater
	text := texts()[6][:3000]
	for _, level := range []int{flate.NoCompression, 6} {
		stream := deflated(t, level, text)
		got := make([]byte, len(text))
		end := bytes.LastIndex(stream[:len(stream)-5], []byte{0, 0, 0xff, 0xff}) // position of the flush; an empty block follows
		for i := range end - 1 {
			require.False(t, f.inflate(got, stream[:i]), "%d of %d bytes", i, len(stream))
		}
		require.False(t, f.inflate(make([]byte, len(text)+1), stream), "more than the stream contains")
		require.False(t, f.inflate(got[1:], stream), "less than a block contains")
	}
}

// FuzzInflate compares inflate with the decoder of the standard library.
func FuzzInflate(f *testing.F) {
	for _, text := range texts() {
		text = text[:min(len(text), 2000)]
		for _, level := range []int{flate.NoCompression, flate.BestSpeed, 6} {
			f.Add(deflated(f, level, text), len(text))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, n int) {
		if n < 0 || n > 1<<16 {
			return
		}
		var ours inflater
		got := make([]byte, n)
		ok := ours.inflate(got, stream)
		want, err := io.ReadAll(flate.NewReader(bytes.NewReader(stream)))
		if ok && !bytes.HasPrefix(want, got) && err == nil {
			t.Errorf("decoded %x to %x, want %x", stream, got, want)
		}
		if !ok && err == nil && len(want) == n {
			t.Errorf("did not decode %x, want %x", stream, want)
		}
	})
}

func BenchmarkInflate(b *testing.B) {
	text := texts()[6]
	stream := deflated(b, 6, text)
	got := make([]byte, len(text))
	var f inflater
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		f.inflate(got, stream)
	}
}
