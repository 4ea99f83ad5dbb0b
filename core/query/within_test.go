package query_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/wire"
)

// A search in the search text of a row gives the same result as a search in the envelope,
// for random rows and searches. Words that a narrower search shares with the previous
// search need no check.
func TestSearchTextAgreesWithTheEnvelope(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	word := func(most int) string {
		var b strings.Builder
		for range 1 + r.IntN(most) {
			b.WriteByte("abAB-\x00\x80é "[r.IntN(9)])
		}
		return b.String()
	}
	quoted := func() string { return `"` + word(3) + `" ` }
	matches := 0
	for range 30_000 {
		o := api.Object{Key: api.Key(word(9) + "/" + word(30))}
		for range r.IntN(4) {
			o.Columns = append(o.Columns, api.Value{Kind: api.String, Text: word(20)}, api.Value{Kind: api.Integer, Int: 1})
		}
		e := wire.Envelope(wire.AppendEnvelope(nil, &o))
		labels := api.Labels{{Key: word(2), Value: word(2)}}
		broad := quoted()
		for range r.IntN(2) {
			broad += "-" + quoted()
		}
		narrow := broad + quoted()
		b, status := query.ParseSearch(broad)
		require.Nil(t, status)
		n, status := query.ParseSearch(narrow)
		require.Nil(t, status)
		require.True(t, b.HasText())
		text := query.AppendText(nil, indexOf(e))
		require.Equal(t, b.Matches(indexOf(e), b.InLabels(labels)), b.MatchesText(text, b.InLabels(labels), 0), "%q in %q", broad, text)
		decided, narrows := n.Narrows(&b)
		require.True(t, narrows)
		if b.Matches(indexOf(e), b.InLabels(labels)) {
			matches++
			require.Equal(t, n.Matches(indexOf(e), n.InLabels(labels)), n.MatchesText(text, n.InLabels(labels), decided), "%q in %q", narrow, text)
		}
	}
	require.Greater(t, matches, 1000)
}

// A search text replaces exactly the ASCII capital letters, wherever they are in the text.
func TestSearchTextIsInLowerCase(t *testing.T) {
	var all, want []byte
	for c := range 256 {
		all = append(all, byte(c))
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		want = append(want, byte(c))
	}
	for before := range 9 {
		o := api.Object{Key: "ns/A", Columns: []api.Value{{Kind: api.String, Text: strings.Repeat("Q", before) + string(all)}}}
		text := query.AppendText([]byte("KEPT"), indexOf(wire.AppendEnvelope(nil, &o)))
		require.Equal(t, "KEPTa\xffns\xff"+strings.Repeat("q", before)+string(want)+"\xff", string(text))
	}
}

func TestSearchNarrows(t *testing.T) {
	for _, c := range []struct {
		broad, narrow string
		narrows       bool
		decided       query.Words
	}{
		{"", "w", true, 0},
		{"w", "wo", true, 0},
		{"wo", "w", false, 0},
		{"a b", "b a c", true, 0b11},
		{"a b", "xab", true, 0},
		{"a b", "a", false, 0},
		{"a", "-a", false, 0},
		{"-ab", "-a", true, 0},
		{"-a", "-ab", false, 0},
		{"-a x", "x -a -b", true, 0b11},
		{"-a", "b", false, 0},
	} {
		b, _ := query.ParseSearch(c.broad)
		n, _ := query.ParseSearch(c.narrow)
		decided, narrows := n.Narrows(&b)
		require.Equal(t, c.narrows, narrows, "%q to %q", c.broad, c.narrow)
		require.Equal(t, c.decided, decided, "%q to %q", c.broad, c.narrow)
	}
}

// MatchesText cannot decide a search with a word that contains the byte textEnd.
func TestSearchWithTheSeparatorHasNoText(t *testing.T) {
	s, _ := query.ParseSearch("a\xffb")
	require.False(t, s.HasText())
}
