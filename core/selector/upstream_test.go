package selector_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/selector"
)

// This file contains test cases of apimachinery under their original names. Lexer cases
// are checked by their effect on parsing.

func TestUpstreamLabels_SelectorParse(t *testing.T) {
	assertCanonical(t, map[string]string{
		"x=a,y=b,z=c": "x=a,y=b,z=c", "": "", "x!=a,y=b": "x!=a,y=b", "x=": "x=", "x= ": "x=",
		"x=,z= ": "x=,z=", "x= ,z= ": "x=,z=", "!x": "!x", "x>1": "x>1", "x>1,z<5": "x>1,z<5",
	})
	assertRefused(t, "x=a||y=b", "x==a==b", "!x=a", "x<a")
}

func TestUpstreamLabels_SetSelectorParser(t *testing.T) {
	assertCanonical(t, map[string]string{
		"":                                       "",
		"\rx":                                    "x",
		"this-is-a-dns.domain.com/key-with-dash": "this-is-a-dns.domain.com/key-with-dash",
		"this-is-another-dns.domain.com/key-with-dash in (so,what)": "this-is-another-dns.domain.com/key-with-dash in (so,what)",
		"0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)":      "0.1.2.domain/99 notin (10.10.100.1,tick.tack.clock)",
		"foo  in\t (abc)":                  "foo in (abc)",
		"x notin\n (abc)":                  "x notin (abc)",
		"x  notin\t\t\t(abc,def)":          "x notin (abc,def)",
		"x in (abc,def)":                   "x in (abc,def)",
		"x in (abc,)":                      "x in (,abc)",
		"x in (abc,abc)":                   "x in (abc)",
		"x in ()":                          "x in ()",
		"x in (a,,)":                       "x in (,a)",
		"x in (a,,,)":                      "x in (,a)",
		"x in (a,,,,,,)":                   "x in (,a)",
		"x in (a,,a,,a,,a,,)":              "x in (,a)",
		"x notin (abc,,def),bar,z in (),w": "bar,w,x notin (,abc,def),z in ()",
		"x,y in (a)":                       "x,y in (a)",
		"x=a":                              "x=a",
		"x>1":                              "x>1",
		"x<7":                              "x<7",
		"x=a,y!=b":                         "x=a,y!=b",
		"x=a,y!=b,z in (h,i,j)":            "x=a,y!=b,z in (h,i,j)",
		"x notin ( )":                      "x notin ()",
		"x notin (, a)":                    "x notin (,a)",
		"a ":                               "a",
		"a in (x,y,notin, z,in)":           "a in (in,notin,x,y,z)",
	})
	assertRefused(t, "x=a||y=b", "x,,y", ",x,y", "x nott in (y)", "a in (xyz),", "a in (xyz)b notin ()",
		"a in (xyz abc)", "a notin(", "a (", "(")
}

func TestUpstreamLabels_Lexer(t *testing.T) {
	assertCanonical(t, map[string]string{
		"": "", "in": "in", "notin": "notin", "key in ( value )": "key in (value)", "key notin ( value )": "key notin (value)",
		"key in ( value1, value2 )": "key in (value1,value2)", "key": "key", "!key": "!key", "x in (),y": "x in (),y",
		"key>2": "key>2", "key<1": "key<1",
	})
	assertRefused(t, ",", "=", "==", ">", "<", "!", "!=", "(", ")", "~", "||", "()", "== != (), = notin")
}

func TestUpstreamLabels_SelectorMatches(t *testing.T) {
	both := labelSet("baz", "blah", "foo", "bar")
	for _, c := range []struct {
		text  string
		set   []string
		match bool
	}{
		{"", []string{"x", "y"}, true},
		{"x=y", []string{"x", "y"}, true},
		{"x=y,z=w", []string{"x", "y", "z", "w"}, true},
		{"x!=y,z!=w", []string{"x", "z", "z", "a"}, true},
		{"notin=in", []string{"notin", "in"}, true},
		{"x", []string{"x", "z"}, true},
		{"!x", []string{"y", "z"}, true},
		{"x>1", []string{"x", "2"}, true},
		{"x<1", []string{"x", "0"}, true},
		{"x=z", nil, false},
		{"x=y", []string{"x", "z"}, false},
		{"x=y,z=w", []string{"x", "w", "z", "w"}, false},
		{"x!=y,z!=w", []string{"x", "z", "z", "w"}, false},
		{"x", []string{"y", "z"}, false},
		{"!x", []string{"x", "z"}, false},
		{"x>1", []string{"x", "0"}, false},
		{"x<1", []string{"x", "2"}, false},
		{"x in (foo),y notin (alpha)", []string{"x", "foo", "y", "baz"}, true},
		{"x in (foo),y in (alpha)", []string{"x", "foo", "y", "baz"}, false},
		{"x notin (),y", []string{"y", ""}, true},
		{"!x,y", []string{"y", ""}, true},
		{"x notin (),!y", []string{"y", ""}, false},
		{"x in ()", []string{"y", "baz"}, false},
		{"z>1", []string{"z", "2"}, true},
		{"z>1", []string{"z", "v2"}, false},
	} {
		assert.Equal(t, c.match, parseLabels(t, c.text).Matches(labelSet(c.set...)), "%q on %q", c.text, c.set)
	}
	for text, match := range map[string]bool{
		"foo=bar": true, "baz=blah": true, "foo=bar,baz=blah": true, "foo=blah": false, "baz=bar": false,
		"foo=bar,foobar=bar,baz=blah": false,
	} {
		assert.Equal(t, match, parseLabels(t, text).Matches(both), "%q", text)
	}
	for _, set := range [][]string{nil, {"foo", "bar"}, {"baz", "blah"}, {"baz", "blah", "foo", "bar"}} { // SetMatches
		assert.True(t, selector.FromSet(labelSet(set...)).Matches(both), "%q", set)
	}
}

func TestUpstreamLabels_RequirementConstructor(t *testing.T) {
	long := strings.Repeat("a", 254)
	for _, c := range []struct {
		key    string
		op     selector.Operator
		values []string
		good   bool
	}{
		{"x1", selector.In, nil, false},
		{"x2", selector.NotIn, []string{}, false},
		{"x3", selector.In, []string{"foo"}, true},
		{"x4", selector.NotIn, []string{"foo"}, true},
		{"x5", selector.Equals, []string{"bar", "foo"}, false},
		{"x6", selector.Exists, nil, true},
		{"x7", selector.DoesNotExist, nil, true},
		{"x8", selector.Exists, []string{"foo"}, false},
		{"x9", selector.In, []string{"bar"}, true},
		{"x11", selector.GreaterThan, []string{"1"}, true},
		{"x12", selector.LessThan, []string{"6"}, true},
		{"x13", selector.GreaterThan, nil, false},
		{"x14", selector.GreaterThan, []string{"bar"}, false},
		{"x15", selector.LessThan, []string{"bar"}, false},
		{long, selector.Exists, nil, false},
		{"x16", selector.Equals, []string{long}, false},
		{"x17", selector.Equals, []string{"a b"}, false},
		{"x18", "unsupportedOp", nil, false},
	} {
		_, err := selector.NewRequirement(c.key, c.op, c.values)
		assert.Equal(t, c.good, err == nil, "%s %s %q: %v", c.key, c.op, c.values, err)
	}
}

func TestUpstreamLabels_ToString(t *testing.T) {
	for _, text := range []string{
		"x in (abc,def),y notin (jkl),z", "x notin (abc,def),y!=jkl,!z", "x notin (abc),y in (jkl,mno),z notin ()",
		"x=abc,y==jkl,z!=a,z", "x>2,y<8,z",
	} {
		assert.Equal(t, text, parseLabels(t, text).String())
	}
}

func TestUpstreamLabels_RequiresExactMatch(t *testing.T) {
	for _, c := range []struct{ text, key, value string }{
		{"key in (value)", "key", "value"},
		{"key in (value,value2)", "key", ""},
		{"key in (value,value1),key2 in (value2)", "key2", "value2"},
		{"key=value", "key", "value"},
		{"key==value", "key", "value"},
		{"key!=value", "key", ""},
		{"key in (value),key2 in (value2)", "key", "value"},
	} {
		value, found := parseLabels(t, c.text).RequiresExactMatch(c.key)
		assert.Equal(t, c.value, value, "%q", c.text)
		assert.Equal(t, c.value != "", found, "%q", c.text)
	}
}

func TestUpstreamFields_SelectorParse(t *testing.T) {
	for text, canonical := range map[string]string{
		"x=a,y=b,z=c": "x=a,y=b,z=c", "": "", "x!=a,y=b": "x!=a,y=b", `x=a||y\=b`: `x=a||y\=b`, `x=a\=\=b`: `x=a\=\=b`,
		"x=a,a=x": "a=x,x=a", "a=x,x=a": "a=x,x=a",
		// SplitTerms and SplitTerm
		`a=avalue`: `a=avalue`, `a=avalue,b=bvalue`: `a=avalue,b=bvalue`,
		`a=avalue,b==bvalue,c!=cvalue`: `a=avalue,b=bvalue,c!=cvalue`,
		`a=a,`:                         `a=a`, `,a=a`: `a=a`, `k=\,,k2=v2`: `k2=v2,k=\,`, `k=\\,k2=v2`: `k2=v2,k=\\`, `k=\\\,,k2=v2`: `k2=v2,k=\\\,`,
		`함=수,목=록`: `목=록,함=수`, `함=수`: `함=수`, `a=value`: `a=value`, `b==value`: `b=value`, `c!=value`: `c!=value`,
		`k=\,`: `k=\,`, `k=\=`: `k=\=`,
	} {
		f, err := selector.ParseFields(text)
		if assert.NoError(t, err, "%q", text) {
			assert.Equal(t, canonical, f.String(), "%q", text)
		}
	}
	for _, text := range []string{
		"x=a||y=b", "x==a==b", "x=a,b", "x in (a)", "x in (a,b,c)", "x", `a`, `k=\a\b\`, `k=\`, `k=\\\a\b\=\,\`,
	} {
		_, err := selector.ParseFields(text)
		assert.Error(t, err, "%q", text)
	}
}

func TestUpstreamFields_EscapeValue(t *testing.T) {
	for value, escaped := range map[string]string{
		``: ``, `a`: `a`, `=`: `\=`, `,`: `\,`, `\`: `\\`, `\=\,\`: `\\\=\\\,\\`,
	} {
		assert.Equal(t, escaped, selector.EscapeValue(value))
		f, err := selector.ParseFields("f=" + escaped)
		if assert.NoError(t, err, "%q", escaped) {
			got, found := f.RequiresExactMatch("f")
			assert.True(t, found)
			assert.Equal(t, value, got)
		}
	}
	for _, bad := range []string{`\`, `\\\`, `\a`} {
		_, err := selector.ParseFields("f=" + bad)
		assert.Error(t, err, "%q", bad)
	}
}

func TestUpstreamFields_SelectorMatches(t *testing.T) {
	both := map[string]string{"foo": "bar", "baz": "blah", "complex": `=value\,\`}
	for _, c := range []struct {
		text  string
		set   map[string]string
		match bool
	}{
		{"", map[string]string{"x": "y"}, true},
		{"x=y", map[string]string{"x": "y"}, true},
		{"x=y,z=w", map[string]string{"x": "y", "z": "w"}, true},
		{"x!=y,z!=w", map[string]string{"x": "z", "z": "a"}, true},
		{"notin=in", map[string]string{"notin": "in"}, true},
		{"x=y", map[string]string{"x": "z"}, false},
		{"x=y,z=w", map[string]string{"x": "w", "z": "w"}, false},
		{"x!=y,z!=w", map[string]string{"x": "z", "z": "w"}, false},
		{"foo=bar", both, true},
		{"baz=blah", both, true},
		{"foo=bar,baz=blah", both, true},
		{`foo=bar,baz=blah,complex=\=value\\\,\\`, both, true},
		{"foo=blah", both, false},
		{"baz=bar", both, false},
		{"foo=bar,foobar=bar,baz=blah", both, false},
		{`foo=\=blah`, both, false}, // SetMatches
		{`baz=\=bar`, both, false},
		{`foo=\=bar,foobar=bar,baz=blah`, both, false},
	} {
		f, err := selector.ParseFields(c.text)
		if assert.NoError(t, err, "%q", c.text) {
			got := f.Matches(func(field string) (string, bool) { value, ok := c.set[field]; return value, ok })
			assert.Equal(t, c.match, got, "%q on %q", c.text, c.set)
		}
	}
}

func TestUpstreamFields_RequiresExactMatch(t *testing.T) {
	for text, want := range map[string]struct {
		value string
		found bool
	}{
		"": {}, "a=b": {}, "test=b": {"b", true}, "test=": {"", true}, "test!=b": {}, "test!=": {}, "a=,test=b": {"b", true},
	} {
		f, err := selector.ParseFields(text)
		if assert.NoError(t, err, "%q", text) {
			value, found := f.RequiresExactMatch("test")
			assert.Equal(t, want.value, value, "%q", text)
			assert.Equal(t, want.found, found, "%q", text)
		}
	}
}
