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

// deflated compresses the pieces into one deflate stream, with a flush after each piece.
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

// bitWriter writes the bits of a deflate stream.
type bitWriter struct {
	out  []byte
	bits uint64
	n    uint
}

func (w *bitWriter) write(v uint64, n uint) {
	w.bits |= v << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.out, w.bits = append(w.out, byte(w.bits)), w.bits>>8
	}
}

// code writes a Huffman code, most significant bit first.
func (w *bitWriter) code(code uint16, n uint8) { w.write(uint64(reverse(code, n)), uint(n)) }

// A length and a distance with the longest codes and the most extra bits take 48 bits.
// The decoder must buffer all 48 bits, whatever the starting bit (rule B33). Encoders do
// not produce such codes.
func TestInflateDecodesTheLongestCodes(t *testing.T) {
	const copies = 200
	w := &bitWriter{}
	w.write(0b101, 3) // the last block, with dynamic codes
	w.write(29, 5)    // 286 literals and lengths
	w.write(29, 5)    // 30 distances
	w.write(15, 4)    // 19 code lengths
	for _, symbol := range codeLengthOrder {
		if symbol < 16 {
			w.write(4, 3) // a length takes four bits, and its code is the length itself
		} else {
			w.write(0, 3)
		}
	}
	const farLength, farDistance = 284, 29
	var literals [286]uint8 // 'a' takes one bit, and each further code one more
	for i := range uint8(13) {
		literals['a'+i] = i + 1
	}
	literals[endOfBlock], literals[farLength], literals['z'] = 15, 15, 14
	var distances [30]uint8
	for i := range uint8(14) {
		distances[i] = i + 1
	}
	distances[28], distances[farDistance] = 15, 15
	for _, n := range append(literals[:], distances[:]...) {
		w.code(uint16(n), 4)
	}
	const most = 1<<15 - 1
	want := 0
	for i := range 33_000 {
		length := uint8(i*i%13) + 1
		w.code(1<<length-2, length)
		want++
	}
	for i := range copies {
		w.code(most, 15)
		w.write(uint64(i%31), 5)
		w.code(most, 15)
		w.write(uint64(8191-i), 13)
		want += 227 + i%31
		for range i % 23 { // the next copy starts at another bit
			w.code(0, 1)
			want++
		}
	}
	w.code(most-1, 15)
	w.write(0, 7)

	expected, err := io.ReadAll(flate.NewReader(bytes.NewReader(w.out)))
	require.NoError(t, err)
	require.Len(t, expected, want)
	got := make([]byte, want)
	require.True(t, new(inflater).inflate(got, w.out))
	require.True(t, bytes.Equal(expected, got))
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
