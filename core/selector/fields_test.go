package selector_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/selector"
)

// fieldSet supplies the fields of an object to Fields.Matches.
type fieldSet map[string]string

func (s fieldSet) get(field string) (string, bool) {
	value, ok := s[field]
	return value, ok
}

func parseFields(t *testing.T, text string) selector.Fields {
	t.Helper()
	f, err := selector.ParseFields(text)
	require.NoError(t, err, "%q", text)
	return f
}

func assertFieldsRefused(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, err := selector.ParseFields(text)
		var syntax *selector.SyntaxError
		if assert.ErrorAs(t, err, &syntax, "%q", text) {
			assert.Equal(t, text, syntax.Text)
			assert.LessOrEqual(t, syntax.Offset, len(text))
		}
	}
}

func TestFS1_TermsAreAndedAndEmptyTermsSkipped(t *testing.T) {
	for _, text := range []string{"", ",", ",,,"} {
		f := parseFields(t, text)
		assert.True(t, f.Empty(), "%q", text)
		assert.True(t, f.Matches(fieldSet{}.get), "%q", text)
		assert.Empty(t, f.String(), "%q", text)
	}
	for text, canonical := range map[string]string{
		"a=b": "a=b", "a==b": "a=b", "a!=b": "a!=b", "a=b,,c=d": "a=b,c=d", "a=b,": "a=b", ",a=b": "a=b",
	} {
		assert.Equal(t, canonical, parseFields(t, text).String(), "%q", text)
	}
	f := parseFields(t, "a=1,b!=2")
	assert.True(t, f.Matches(fieldSet{"a": "1", "b": "1"}.get))
	assert.False(t, f.Matches(fieldSet{"a": "1", "b": "2"}.get))
	assert.False(t, f.Matches(fieldSet{"a": "2", "b": "1"}.get))
}

func TestFS2_NoOtherFormsAndNoTrimming(t *testing.T) {
	assertFieldsRefused(t, "a", "!a", "a in (b)", "a>1", "a<1", " ", "a=b, ")
	f := parseFields(t, " a=b ")
	assert.True(t, f.Matches(fieldSet{" a": "b "}.get))
	assert.False(t, f.Matches(fieldSet{"a": "b"}.get))
	assert.Equal(t, " a=b ", f.String())
}

func TestFS3_FieldsAndTermBoundaries(t *testing.T) {
	for text, field := range map[string]string{
		`a=v`: "a", `a!=v`: "a", `a!!=v`: "a!", `a!b=v`: "a!b", `a\=v`: `a\`, `a\,b=v`: `a\,b`, `=v`: "", `!=v`: "",
	} {
		f := parseFields(t, text)
		negated := !f.Matches(fieldSet{field: "v"}.get)
		assert.Equal(t, negated, f.Matches(fieldSet{field: "w"}.get), "%q is about %q", text, field)
		assert.Equal(t, text, f.String())
	}
	// The second backslash is itself escaped, so the comma ends the term.
	assert.Equal(t, `a=b\\,c=d`, parseFields(t, `a=b\\,c=d`).String())
	assertFieldsRefused(t, `a\\,b=v`)
}

func TestFS4_Escapes(t *testing.T) {
	for text, value := range map[string]string{
		`a=\\`: `\`, `a=\,`: `,`, `a=\=`: `=`, `a=x\,y\=z\\`: `x,y=z\`, `a=!b`: `!b`, `a==!b`: `!b`, `a=`: ``, `a=é\,`: `é,`,
	} {
		got, ok := parseFields(t, text).RequiresExactMatch("a")
		assert.True(t, ok, text)
		assert.Equal(t, value, got, text)
		assert.Equal(t, "a="+selector.EscapeValue(value), parseFields(t, text).String())
	}
	assertFieldsRefused(t, `a=\x`, `a=\!`, `a=b\`, `a=\`, `a=\\\`, `a===b`, `a=b=c`, `a!==b`, `a=\é`, `a=b\=c=d`)
	assert.Equal(t, `plain`, selector.EscapeValue(`plain`))
	assert.Equal(t, `\\\,\=`, selector.EscapeValue(`\,=`))
}

func TestFS5_AbsentComparesAsEmpty(t *testing.T) {
	for text, want := range map[string]bool{"a=": true, "a!=x": true, "a=x": false, "a!=": false} {
		f := parseFields(t, text)
		assert.Equal(t, want, f.Matches(fieldSet{}.get), text)
		assert.Equal(t, want, f.Matches(fieldSet{"a": ""}.get), text)
		// The value that get returns with false is ignored.
		assert.Equal(t, want, f.Matches(func(string) (string, bool) { return "x", false }), text)
	}
}

func TestFS6_CanonicalText(t *testing.T) {
	for text, canonical := range map[string]string{
		"b=1,a=2":       "a=2,b=1",
		"b==1,a!=2":     "a!=2,b=1",
		"a=2,a=1":       "a=1,a=2",
		"a=1,a==2":      "a=1,a=2", // "a=1" sorts before "a==2"
		"a=x,a==2":      "a=2,a=x", // and "a==2" before "a=x"
		"a=1,a=1":       "a=1,a=1",
		`b=\=,a=x\,y`:   `a=x\,y,b=\=`,
		"a.b=1,a=2,A=3": "A=3,a.b=1,a=2",
	} {
		assert.Equal(t, canonical, parseFields(t, text).String(), "%q", text)
	}
}

func TestFS7_RequiresExactMatch(t *testing.T) {
	for text, want := range map[string]string{
		"a=1": "1", "a==1": "1", "b=2,a=1": "1", "a=2,a=1": "1", "a!=2,a=1": "1", "a=": "", "a==2,a=x": "2",
	} {
		value, ok := parseFields(t, text).RequiresExactMatch("a")
		assert.True(t, ok, text)
		assert.Equal(t, want, value, text)
	}
	for _, text := range []string{"", "b=1", "a!=1"} {
		_, ok := parseFields(t, text).RequiresExactMatch("a")
		assert.False(t, ok, text)
	}
}

func TestFS8_EmptyFieldAndValueDisappear(t *testing.T) {
	for text, canonical := range map[string]string{"=": "", "==": "", "!=": "", "=,!=": "", "a=b,=": "a=b"} {
		f := parseFields(t, text)
		assert.Equal(t, canonical, f.String(), "%q", text)
		assert.Equal(t, canonical == "", f.Empty(), "%q", text)
	}
	assert.False(t, parseFields(t, "=v").Empty())
	assert.False(t, parseFields(t, "a=").Empty())
}

func TestFS9_Bind(t *testing.T) {
	names := []string{"metadata.name", "metadata.namespace", "status.phase"}
	bind := func(text string) selector.BoundFields {
		bound, err := parseFields(t, text).Bind(names)
		require.NoError(t, err, text)
		return bound
	}
	object := func(values ...string) func(int) string { return func(i int) string { return values[i] } }

	b := bind("status.phase!=Failed,metadata.namespace=kube-system")
	assert.False(t, b.Empty())
	assert.True(t, b.Matches(object("a", "kube-system", "Running")))
	assert.True(t, b.Matches(object("a", "kube-system", "")))
	assert.False(t, b.Matches(object("a", "kube-system", "Failed")))
	assert.False(t, b.Matches(object("a", "default", "Running")))

	for _, everything := range []selector.BoundFields{{}, bind(""), bind("=")} {
		assert.True(t, everything.Empty())
		assert.True(t, everything.Matches(nil), "requires no value")
	}

	_, err := parseFields(t, "status.phase=Running,spec.color=red").Bind(names)
	assertBadRequest(t, err, `"spec.color"`, "metadata.name, metadata.namespace, status.phase")
	_, err = parseFields(t, " metadata.name=a").Bind(names) // FS2: the space is part of the name
	assertBadRequest(t, err, `" metadata.name"`)
	_, err = parseFields(t, "metadata.name=a").Bind(nil)
	assertBadRequest(t, err, `"metadata.name"`)
}

func TestFS10_PinName(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "metadata.name=web",
		"=":                                 "metadata.name=web",
		"metadata.name=web":                 "metadata.name=web",
		"metadata.name==web,a=b":            "a=b,metadata.name=web",
		"metadata.name=web,metadata.name=x": "metadata.name=web,metadata.name=x",
	} {
		f, err := selector.PinName(parseFields(t, text), "web")
		require.NoError(t, err, text)
		assert.Equal(t, want, f.String(), text)
	}
	for _, text := range []string{"metadata.name=db", "metadata.name!=web", "a=b", "metadata.name=a,metadata.name=web"} {
		_, err := selector.PinName(parseFields(t, text), "web")
		assertBadRequest(t, err, `"web"`, text, "metadata.name=web")
	}
}
