package query_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/naive"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/wire"
)

func textsOf(o api.Object) []string {
	texts := []string{o.Key.Name(), o.Key.Namespace()}
	for _, l := range o.Labels {
		texts = append(texts, l.Key+"="+l.Value)
	}
	for _, c := range o.Columns {
		if c.Kind == api.String {
			texts = append(texts, c.Text)
		}
	}
	return texts
}

func indexOf(e wire.Envelope) *wire.CellIndex {
	var x wire.CellIndex
	x.Read(e)
	return &x
}

func searches(t *testing.T, source string, o api.Object) bool {
	s, status := query.ParseSearch(source)
	require.Nil(t, status)
	row := rowOf(o)
	return s.Matches(indexOf(row.Envelope), s.InLabels(row.Labels))
}

func TestSearchesAgreeWithTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	words := []string{"web", "WEB-1", "-web", "run", "-crash", "ns1", "name=w", "-name=api", "2/2", "zzz", "-zzz", "e", "Mi", "-"}
	found := 0
	for range 20_000 {
		var chosen []string
		for range r.IntN(4) {
			chosen = append(chosen, pickOne(r, words...))
		}
		o := randomObject(r)
		want := naive.Search(without(chosen, "-"), textsOf(o))
		for _, word := range chosen {
			// A hyphen alone is a word.
			want = want && (word != "-" || naive.Search([]string{"web-"}, textsOf(o)))
		}
		if want {
			found++
		}
		require.Equal(t, want, searches(t, strings.Join(chosen, " "), o), "%q %q", chosen, textsOf(o))
	}
	require.Greater(t, found, 4000)
	require.Less(t, found, 16_000)
}

func without(words []string, one string) (others []string) {
	for _, word := range words {
		if word != one {
			others = append(others, word)
		}
	}
	return others
}

func TestSearchesKeepSpacesInQuotes(t *testing.T) {
	o := randomObject(rand.New(rand.NewPCG(1, 1)))
	o.Key, o.Columns[1].Text = "shop/web-1", "Back-off restarting failed container"
	o.Columns[1].Kind = api.String
	for source, want := range map[string]bool{
		"":                       true,
		"  ":                     true,
		`""`:                     true,
		`"restarting failed"`:    true,
		`"failed restarting"`:    false,
		`-"failed restarting"`:   true,
		`-"restarting failed"`:   false,
		`"restarting fai`:        true,
		`restarting failed shop`: true,
		"restarting\tSHOP":       true,
		`BACK-OFF`:               true,
		`-back-off`:              false,
		`back" "off`:             false,
		`restarting" "failed`:    true,
		`-"`:                     true,
	} {
		require.Equal(t, want, searches(t, source, o), source)
	}
}

// The npm package also splits searches, to highlight words. The tests of that package
// read the same file.
func TestSearchesAreSplitAsInTheSharedFile(t *testing.T) {
	data, err := os.ReadFile("../../testdata/query/searches.json")
	require.NoError(t, err)
	var cases []struct {
		Search          string
		Words, Excluded []string
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		s, status := query.ParseSearch(c.Search)
		require.Nil(t, status)
		words, excluded := s.Split()
		require.Equal(t, c.Words, words, "%q", c.Search)
		require.Equal(t, c.Excluded, excluded, "%q", c.Search)
	}
}

func TestSearchesAreLimited(t *testing.T) {
	_, status := query.ParseSearch(strings.Repeat("a ", query.MaxSearchWords))
	require.Nil(t, status)
	_, status = query.ParseSearch(strings.Repeat("a ", query.MaxSearchWords+1))
	require.Equal(t, query.LimitSearchWords, status.Cause)
	require.Equal(t, 413, status.Code)
	_, status = query.ParseSearch(strings.Repeat("a", query.MaxSearchBytes+1))
	require.Equal(t, query.LimitSearchBytes, status.Cause)
}

func FuzzParseSearch(f *testing.F) {
	for _, seed := range []string{"", "a b", `-a "b c"`, `"`, "-", `--`, "A\x00"} {
		f.Add(seed)
	}
	o := randomObject(rand.New(rand.NewPCG(1, 1)))
	row := rowOf(o)
	f.Fuzz(func(t *testing.T, source string) {
		s, status := query.ParseSearch(source)
		if status != nil {
			return
		}
		inLabels := s.InLabels(row.Labels)
		if s.Empty() && !s.Matches(indexOf(row.Envelope), inLabels) {
			t.Fatalf("%q is empty and matches nothing", source)
		}
	})
}
