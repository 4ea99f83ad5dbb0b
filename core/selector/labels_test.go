package selector_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// labelSet returns a set of alternating keys and values, which must be in key
// order.
func labelSet(pairs ...string) api.Labels {
	var set api.Labels
	for i := 0; i < len(pairs); i += 2 {
		set = append(set, api.Label{Key: pairs[i], Value: pairs[i+1]})
	}
	return set
}

func parseLabels(t *testing.T, text string) selector.Labels {
	t.Helper()
	l, err := selector.ParseLabels(text)
	require.NoError(t, err, "%q", text)
	return l
}

// assertCanonical checks that each text parses, and that the selector prints as the given
// canonical text.
func assertCanonical(t *testing.T, want map[string]string) {
	t.Helper()
	for text, canonical := range want {
		assert.Equal(t, canonical, parseLabels(t, text).String(), "%q", text)
	}
}

func assertRefused(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, err := selector.ParseLabels(text)
		var syntax *selector.SyntaxError
		if assert.ErrorAs(t, err, &syntax, "%q", text) {
			assert.Equal(t, text, syntax.Text)
			assert.LessOrEqual(t, syntax.Offset, len(text))
		}
	}
}

func TestLS1_RequirementsAreAndedAndBlanksIgnored(t *testing.T) {
	for _, text := range []string{"", " ", "\t\r\n "} {
		l := parseLabels(t, text)
		assert.True(t, l.Empty(), "%q", text)
		assert.True(t, l.Matches(nil), "%q", text)
	}
	l := parseLabels(t, "\ta\r= 1\n, b  !=\t2 ")
	assert.Equal(t, "a=1,b!=2", l.String())
	assert.True(t, l.Matches(labelSet("a", "1", "b", "1")))
	assert.False(t, l.Matches(labelSet("a", "1", "b", "2")))
	assert.False(t, l.Matches(labelSet("a", "2", "b", "1")))
	assertRefused(t, "a\v", "a\f=b", "a=b\u00a0") // only four characters are whitespace
}

func TestLS2_Forms(t *testing.T) {
	assertCanonical(t, map[string]string{
		"k": "k", "!k": "!k", "k=v": "k=v", "k==v": "k==v", "k!=v": "k!=v",
		"k in (v,w)": "k in (v,w)", "k notin (v,w)": "k notin (v,w)", "k>1": "k>1", "k<1": "k<1",
	})
	assertRefused(t, "k>=1", "k<=1", `k="v"`, `k='v'`, `k=a\,b`, "k exists", "k gt 1")
}

func TestLS3_Tokens(t *testing.T) {
	assertCanonical(t, map[string]string{
		"in in (in,notin)":   "in in (in,notin)",
		"notin notin (in)":   "notin notin (in)",
		"a=in":               "a=in",
		"in":                 "in",
		"!notin":             "!notin",
		"a in(b)":            "a in (b)",
		"a\x00=b":            "a=b", // directly after a token, NUL ends only the token
		"a=b\x00,c":          "a=b,c",
		"a \x00 anything (=": "a", // before a token, NUL ends the text
		"\x00a":              "",
		"a\x00\x00,b":        "a",
	})
	assertRefused(t, "a= =b", "a! =b", "a\x00b", "a=b\x00c", "a,\x00\x00b", "a IN (b)")
}

func TestLS4_Errors(t *testing.T) {
	assertRefused(t, ",a", "a,", "a,,b", ",", "a===b", "a=b=c", "a!b", "!a=b", "!a in (b)", "a b", "a in b",
		"a in (b", "a in b)", "a in (b))", "a in ((b))", "a in", "a in (b c)", "a>=1", "(a)", "!", "!!a", "=b", "a=(b)")
}

func TestLS5_EmptyValues(t *testing.T) {
	assertCanonical(t, map[string]string{
		"a=": "a=", "a==": "a==", "a!=": "a!=", "a=,b": "a=,b",
		"a in ()": "a in ()", "a in (,)": "a in ()", "a in (,,,)": "a in ()",
		"a in (b,)": "a in (,b)", "a in (,b)": "a in (,b)", "a in (b,,c)": "a in (,b,c)", "a in (b,,)": "a in (,b)",
		"a notin ( , )": "a notin ()",
	})
	assert.True(t, parseLabels(t, "a in ()").Matches(labelSet("a", "")))
	assert.False(t, parseLabels(t, "a in ()").Matches(nil))
}

func TestLS6_Keys(t *testing.T) {
	long := func(n int) string { return strings.Repeat("k", n) }
	for _, key := range []string{
		"a", "A", "0", "a-b_c.d", long(63), "x/a", "x.y-z/A_b", "0/0", long(253) + "/" + long(63),
		strings.Repeat("a.", 126) + "a/k",
	} {
		assert.Equal(t, key, parseLabels(t, key).String())
	}
	assertRefused(t, "/a", "a/", "a/b/c", "-a", "a-", "_a", "a.", "a%b", long(64), "X/a", "x_y/a", "x..y/a", "x./a",
		".x/a", "-x/a", "x-/a", "x.-y/a", long(254)+"/a", "é", "a\xff")
}

func TestLS7_Values(t *testing.T) {
	long := func(n int) string { return strings.Repeat("v", n) }
	for _, value := range []string{"", "v", "V", "0", "a-b_c.d", "01", long(63)} {
		for _, form := range []string{"k=%", "k==%", "k!=%", "k in (%)", "k notin (%)"} {
			text := strings.ReplaceAll(form, "%", value)
			assert.Equal(t, text, parseLabels(t, text).String())
		}
	}
	for _, value := range []string{"-v", "v-", ".v", "v_", "a/b", "a%b", "é", long(64)} {
		for _, form := range []string{"k=%", "k==%", "k!=%", "k in (%)", "k notin (a,%)"} {
			assertRefused(t, strings.ReplaceAll(form, "%", value))
		}
	}
	assertRefused(t, "k>-1", "k>+1", "k<-1", "k<+1")
	assert.Equal(t, "k>01", parseLabels(t, "k>01").String())
}

func TestLS8_GreaterAndLess(t *testing.T) {
	assertRefused(t, "k>", "k<", "k>a", "k>1.5", "k>1_0", "k>0x1", "k>9223372036854775808", "k>(1)")
	greater, less := parseLabels(t, "k>5"), parseLabels(t, "k<5")
	for value, want := range map[string]struct{ greater, less bool }{
		"4": {false, true}, "5": {false, false}, "6": {true, false},
		"-1": {false, true}, "+6": {true, false}, "06": {true, false},
		"": {}, "x": {}, "6.0": {}, " 6": {}, "9223372036854775808": {},
		"9223372036854775807": {true, false}, "-9223372036854775808": {false, true},
	} {
		assert.Equal(t, want.greater, greater.Matches(labelSet("k", value)), "%q > 5", value)
		assert.Equal(t, want.less, less.Matches(labelSet("k", value)), "%q < 5", value)
	}
	assert.False(t, greater.Matches(nil))
	assert.False(t, less.Matches(nil))
}

func TestLS9_Matching(t *testing.T) {
	for _, c := range []struct {
		text                         string
		absent, empty, value1, other bool
	}{
		{"k", false, true, true, true},
		{"!k", true, false, false, false},
		{"k=1", false, false, true, false},
		{"k==1", false, false, true, false},
		{"k!=1", true, true, false, true},
		{"k in (1,2)", false, false, true, false},
		{"k notin (1,2)", true, true, false, true},
		{"k=", false, true, false, false},
		{"k!=", true, false, true, true},
		{"k in (,1)", false, true, true, false},
		{"k notin (,1)", true, false, false, true},
	} {
		l := parseLabels(t, c.text)
		assert.Equal(t, c.absent, l.Matches(labelSet("j", "1", "l", "1")), "%s, absent", c.text)
		assert.Equal(t, c.empty, l.Matches(labelSet("j", "1", "k", "")), "%s, empty", c.text)
		assert.Equal(t, c.value1, l.Matches(labelSet("k", "1", "l", "x")), "%s, 1", c.text)
		assert.Equal(t, c.other, l.Matches(labelSet("k", "x")), "%s, x", c.text)
	}
}

func TestLS10_CanonicalText(t *testing.T) {
	assertCanonical(t, map[string]string{
		"b=1,a==2,!c,A>1":           "A>1,a==2,b=1,!c",
		"z notin(b,a,b),y in( b,a)": "y in (a,b),z notin (a,b)",
		"a=2,a=1":                   "a=2,a=1", // equal keys keep their order
		"x/b,a/c,d":                 "a/c,d,x/b",
	})
	l := parseLabels(t, "b in (2,1,,2), a!=, c<007 ,!d")
	assert.Equal(t, "a!=,b in (,1,2),c<007,!d", l.String())
	assert.Equal(t, l, parseLabels(t, l.String()))
}

func TestLS11_RequiresExactMatch(t *testing.T) {
	for text, want := range map[string]string{
		"a=1": "1", "a==1": "1", "a in (1)": "1", "a in (1,1)": "1", "a=": "", "a in ()": "",
		"b,a=1": "1", "a=1,a=2": "1", "a=2,a=1": "2",
	} {
		value, ok := parseLabels(t, text).RequiresExactMatch("a")
		assert.True(t, ok, text)
		assert.Equal(t, want, value, text)
	}
	for _, text := range []string{"", "b=1", "a", "!a", "a!=1", "a in (1,2)", "a notin (1)", "a>1", "a!=2,a=1", "a,a=1"} {
		value, ok := parseLabels(t, text).RequiresExactMatch("a")
		assert.False(t, ok, text)
		assert.Empty(t, value, text)
	}
}

func TestLS12_NothingAndEverything(t *testing.T) {
	nothing := selector.Nothing()
	assert.False(t, nothing.Matches(nil))
	assert.False(t, nothing.Matches(labelSet("a", "1")))
	assert.False(t, nothing.Empty())
	assert.Empty(t, nothing.String())
	_, ok := nothing.Requirements()
	assert.False(t, ok)
	_, ok = nothing.RequiresExactMatch("a")
	assert.False(t, ok)

	for _, everything := range []selector.Labels{
		{}, selector.Everything(), selector.FromSet(nil), selector.FromSet(api.Labels{}), selector.FromRequirements(),
	} {
		assert.True(t, everything.Matches(nil))
		assert.True(t, everything.Empty())
		assert.Empty(t, everything.String())
		_, ok := everything.Requirements()
		assert.True(t, ok)
	}
}

func TestLS13_ConflictingRequirementsNeverMatch(t *testing.T) {
	for _, text := range []string{"a,!a", "a=1,a=2", "a=1,a!=1", "a in (1),a notin (1)", "a>5,a<6"} {
		l := parseLabels(t, text)
		assert.False(t, l.Empty(), text)
		for _, set := range []api.Labels{nil, labelSet("a", ""), labelSet("a", "1"), labelSet("a", "5")} {
			assert.False(t, l.Matches(set), "%s on %s", text, set)
		}
	}
}

func TestLS14_FromSet(t *testing.T) {
	l := selector.FromSet(labelSet("b", "2", "a", "")) // the set may be unsorted
	assert.Equal(t, "a=,b=2", l.String())
	assert.True(t, l.Matches(labelSet("a", "", "b", "2", "c", "3")))
	assert.False(t, l.Matches(labelSet("b", "2")))

	for _, malformed := range []api.Labels{labelSet("-a", "1"), labelSet("a", "b c"), labelSet("", "")} {
		assert.True(t, selector.FromSet(malformed).Matches(malformed))
		_, err := selector.FromValidatedSet(malformed)
		assertBadRequest(t, err)
	}
	validated, err := selector.FromValidatedSet(labelSet("a", "", "b", "2"))
	require.NoError(t, err)
	assert.Equal(t, l, validated)
}

func assertBadRequest(t *testing.T, err error, contains ...string) {
	t.Helper()
	var status *api.Status
	require.ErrorAs(t, err, &status)
	assert.Equal(t, 400, status.Code)
	for _, s := range contains {
		assert.Contains(t, status.Message, s)
	}
}

func TestNewRequirement(t *testing.T) {
	values := []string{"2", "1", "2"}
	r, err := selector.NewRequirement("x/k", selector.In, values)
	require.NoError(t, err)
	assert.Equal(t, []string{"2", "1", "2"}, values, "the caller's slice is unchanged")
	assert.Equal(t, "x/k in (1,2)", r.String())
	assert.Equal(t, "x/k", r.Key())
	assert.Equal(t, selector.In, r.Operator())
	r.Values()[0] = "changed"
	assert.Equal(t, []string{"1", "2"}, r.Values())

	l := selector.FromRequirements(r)
	got, ok := l.Requirements()
	assert.True(t, ok)
	assert.Equal(t, []selector.Requirement{r}, got)
	assert.Equal(t, parseLabels(t, "x/k in (2,1)"), l)

	assert.False(t, selector.Requirement{}.Matches(labelSet("", "")), "the zero requirement matches nothing")
}

func TestNewRequirement_Errors(t *testing.T) {
	for _, c := range []struct {
		key    string
		op     selector.Operator
		values []string
		want   string
	}{
		{"-k", selector.Exists, nil, `invalid label key "-k"`},
		{"k", selector.Exists, []string{""}, "takes no value"},
		{"k", selector.DoesNotExist, []string{"a"}, "takes no value"},
		{"k", selector.Equals, nil, "takes exactly one value, found 0"},
		{"k", selector.DoubleEquals, []string{"a", "a"}, "takes exactly one value, found 2"},
		{"k", selector.NotEquals, nil, "takes exactly one value"},
		{"k", selector.GreaterThan, []string{"1", "2"}, "takes exactly one value"},
		{"k", selector.LessThan, []string{"x"}, `a whole number of at most 64 bits, found "x"`},
		{"k", selector.GreaterThan, []string{"-1"}, `invalid label value "-1"`},
		{"k", selector.In, nil, "takes at least one value"},
		{"k", selector.NotIn, []string{"a", "b c"}, `invalid label value "b c"`},
		{"k", "like", []string{"a"}, `unknown operator "like"`},
		{"k", "", nil, `unknown operator ""`},
	} {
		_, err := selector.NewRequirement(c.key, c.op, c.values)
		assertBadRequest(t, err, c.want)
	}
}
