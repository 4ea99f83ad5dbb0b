package objectjson_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/objectjson"
)

// end returns the offset at which a Span finds the end of the value at the front of text.
// The function cut returns the size of the next piece, given the number of bytes that are
// left.
func end(text []byte, cut func(left int) int) (int, bool) {
	var s objectjson.Span
	var seen []byte
	for at := 0; at < len(text); {
		n := min(max(cut(len(text)-at), 1), len(text)-at)
		seen = append(seen, text[at:at+n]...)
		if found, complete := s.Find(seen, at); complete {
			return found, true
		}
		at += n
	}
	return len(text), false
}

// A Span finds the end of a document regardless of its pieces, and excludes the
// bytes that follow (rule P2).
func TestSpanEndsWithItsValueForAnyPieces(t *testing.T) {
	for seed := range uint64(300) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		document := bytes.TrimSpace(g.document())
		if !json.Valid(document) {
			continue
		}
		want := len(document)
		text := append(document[:want:want], "\n{\"a\":\"}\"}"...)
		for cut := 1; cut < len(text); cut++ {
			first := true
			at, complete := end(text, func(left int) int {
				if first {
					first = false
					return cut
				}
				return left
			})
			require.True(t, complete, "%s", text)
			require.Equal(t, want, at, "cut at %d: %s", cut, text)
		}
	}
}

// A Span that processes words finds the same ends as one that processes bytes.
func TestSpanProcessesWordsLikeBytes(t *testing.T) {
	const alphabet = `{{{}}}[[]]""""\\\\ az#|,:` + "\x00\x7f\xfb\xa2"
	chance := rand.New(rand.NewPCG(1, 5))
	ended := 0
	for range 100_000 {
		text := make([]byte, 1+chance.IntN(80))
		for i := range text {
			text[i] = alphabet[chance.IntN(len(alphabet))]
		}
		text[0] = '{'
		at, complete := end(text, func(left int) int { return left })
		want, sound := end(text, func(int) int { return 1 })
		if at != want || complete != sound {
			t.Fatalf("%q ends at %d (%v), and by bytes at %d (%v)", text, at, complete, want, sound)
		}
		if complete {
			ended++
		}
	}
	require.Greater(t, ended, 10_000)
}

// FuzzSpan checks that a Span finds the end of any value that encoding/json accepts,
// given byte by byte or whole. The result does not depend on the pieces.
func FuzzSpan(f *testing.F) {
	for _, text := range []string{`{}`, `[[]]`, `"\\"`, `{"a\"}":["\\\\\"",{}]}`, `12 `, `nul`, `{"é":"\u00e9"}`, `{"k:{\"uid\":\"x\"}":{}}`, `}`} {
		f.Add([]byte(text), uint16(3))
	}
	for _, name := range fixtures {
		f.Add(fixture(f, name), uint16(100))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint16) {
		if len(text) == 0 {
			return
		}
		whole, complete := end(text, func(left int) int { return left })
		chance := rand.New(rand.NewPCG(uint64(seed), 3))
		pieces, sound := end(text, func(left int) int { return chance.IntN(left + 1) })
		require.Equal(t, whole, pieces)
		require.Equal(t, complete, sound)
		if (text[0] == '{' || text[0] == '[' || text[0] == '"') && json.Valid(text) {
			require.True(t, complete)
			require.True(t, json.Valid(text[:whole]))
		}
	})
}

// An unchecked scan of a valid object, with borrowed strings, returns the same object as
// a checked scan.
func TestUncheckedScanGivesTheSameObject(t *testing.T) {
	compared := 0
	for seed := range uint64(3000) {
		g := generator{rand.New(rand.NewPCG(seed, 4))}
		d := g.schema()
		checked, err := objectjson.NewScanner(d.schema())
		require.NoError(t, err)
		trusting, err := objectjson.NewScanner(d.schema())
		require.NoError(t, err)
		raw, opts := g.document(), optionsFromBits(g.IntN(8))
		want, err := checked.Scan(raw, opts)
		if err != nil {
			continue
		}
		opts.Unchecked, opts.Borrowed = true, true
		got, err := trusting.Scan(raw, opts)
		require.NoError(t, err, "%s", raw)
		require.Equal(t, want, got, "%s", raw)
		compared++
	}
	require.Greater(t, compared, 1000)
}

func TestUncheckedScanDetectsAMissingEnd(t *testing.T) {
	s, err := objectjson.NewScanner(podSchema().schema())
	require.NoError(t, err)
	raw := fixture(t, "pod.json")
	for cut := range raw {
		_, err := s.Scan(raw[:cut], objectjson.Options{Unchecked: true})
		require.Error(t, err, "cut at %d", cut)
	}
}
