package selector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

func requireOffsetInside(t *testing.T, text string, err error) {
	t.Helper()
	var syntax *selector.SyntaxError
	require.ErrorAs(t, err, &syntax)
	require.Equal(t, text, syntax.Text)
	require.True(t, syntax.Offset >= 0 && syntax.Offset <= len(text), "%d", syntax.Offset)
}

// The printed text of a valid selector parses to the same selector (LS10). Both selectors
// give the same results for label sets that consist of the keys and values in the
// selector.
func FuzzParseLabels(f *testing.F) {
	for _, seed := range []string{
		"", "a", "!a", "a=b", "a==b,c!=d", "a in (b,c),d notin (,e)", "x.y/z>1,x<02", "in in (in,notin)", "a=,b==,c!=",
		"a in ()", "a\x00,b", "a \x00", " a\t=\r\nb ", "a===b", "a in b", "a,,b", "a>=1", "-a", "a/b/c", "a=\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := selector.ParseLabels(text)
		if err != nil {
			requireOffsetInside(t, text, err)
			return
		}
		second, err := selector.ParseLabels(first.String())
		require.NoError(t, err)
		require.Equal(t, first, second)
		for _, set := range setsAround(first) {
			require.Equal(t, first.Matches(set), second.Matches(set), "%v", set)
		}
	})
}

func setsAround(l selector.Labels) []api.Labels {
	sets := []api.Labels{nil}
	all := map[string]string{}
	requirements, _ := l.Requirements()
	for _, r := range requirements {
		all[r.Key()] = "0"
		for _, value := range r.Values() {
			all[r.Key()] = value
			sets = append(sets, labelSet(r.Key(), value))
		}
	}
	return append(sets, toSet(all))
}

// The printed text of a valid selector parses to the same terms. Their order may
// change once because of "==" (see Fields.String) and is stable afterwards.
func FuzzParseFields(f *testing.F) {
	for _, seed := range []string{
		"", ",", "a=b", "a==b,c!=d", `a=\\\,\=`, "a=b,,c=d,", "=", "=v", "!=", " a=b ", "a!!=b", `a\,b=c`, "a==z,a=c",
		"a", "a===b", `a=\x`, `a=b\`, "a=\xff\\,",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := selector.ParseFields(text)
		if err != nil {
			requireOffsetInside(t, text, err)
			return
		}
		second, err := selector.ParseFields(first.String())
		require.NoError(t, err)
		third, err := selector.ParseFields(second.String())
		require.NoError(t, err)
		require.Equal(t, second, third)
		require.Equal(t, first.Empty(), second.Empty())
		for _, value := range []string{"", "a", "=", text} {
			get := func(string) (string, bool) { return value, true }
			require.Equal(t, first.Matches(get), second.Matches(get))
		}
	})
}

func FuzzEscapeValue(f *testing.F) {
	f.Add(`a\,=b`)
	f.Add("é")
	f.Fuzz(func(t *testing.T, value string) {
		value = string([]rune(value)) // see TestInvalidUTF8InAFieldValue
		parsed, err := selector.ParseFields("f=" + selector.EscapeValue(value))
		require.NoError(t, err)
		got, ok := parsed.RequiresExactMatch("f")
		require.True(t, ok)
		require.Equal(t, value, got)
	})
}
