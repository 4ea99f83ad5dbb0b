package selector_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/selector"
)

// This file contains cases from differential fuzzing against k8s.io/apimachinery v0.37.2.
// A comment names each intended difference; both implementations agree on the rest.

// Intended difference: a set requirement with duplicate values prints each value once
// (LS10), and `in` with one distinct value is an exact match. The apimachinery library
// removes duplicates only when it parses text.
func TestDuplicateValuesAreOneValue(t *testing.T) {
	r, err := selector.NewRequirement("a", selector.In, []string{"b", "b"})
	require.NoError(t, err)
	l := selector.FromRequirements(r)
	assert.Equal(t, "a in (b)", l.String())
	value, ok := l.RequiresExactMatch("a")
	assert.True(t, ok)
	assert.Equal(t, "b", value)
}

// Intended difference: with more than twelve requirements, apimachinery's sort does not
// preserve the order of requirements on one key; this package does. The two
// implementations match the same objects.
func TestRequirementsOnOneKeyKeepTheirOrder(t *testing.T) {
	text := strings.Repeat("b=2,a=1,a=3,b!=1,", 8) + "a==2"
	l := parseLabels(t, text)
	assert.True(t, strings.HasPrefix(l.String(), "a=1,a=3,a=1,a=3,"))
	assert.True(t, strings.HasSuffix(l.String(), "b=2,b!=1,b=2,b!=1"))
	assert.Equal(t, l, parseLabels(t, l.String()))
	value, _ := l.RequiresExactMatch("a")
	assert.Equal(t, "1", value)
}

// Printing and parsing a field selector can change the order of its terms once, because
// "==" affects the sort and is not printed.
func TestCanonicalFieldsMayChangeOrderOnce(t *testing.T) {
	first := parseFields(t, "a==z,a=c")
	assert.Equal(t, "a=z,a=c", first.String())
	second := parseFields(t, first.String())
	assert.Equal(t, "a=c,a=z", second.String())
	assert.Equal(t, second, parseFields(t, second.String()))
}

// Invalid UTF-8 in a field value is preserved, unless the value contains an escape.
func TestInvalidUTF8InAFieldValue(t *testing.T) {
	for text, want := range map[string]string{"a=\xff": "\xff", "a=\xff\\,": "\ufffd,", "a=\xff\xfe\\=": "\ufffd\ufffd="} {
		value, ok := parseFields(t, text).RequiresExactMatch("a")
		assert.True(t, ok)
		assert.Equal(t, want, value)
	}
}

// Between requirements, a doubled comma is an error. Inside a set, even at its end, a
// doubled comma denotes an empty value.
func TestDoubledCommasInASetAreEmptyValues(t *testing.T) {
	for text, want := range map[string]string{
		"a in (b,,)": "a in (,b)", "a in (,,)": "a in ()", "a in (,,b)": "a in (,b)", "a in (b,,,c)": "a in (,b,c)",
	} {
		assert.Equal(t, want, parseLabels(t, text).String())
	}
}

// A NUL byte directly after a token is skipped. A NUL byte before a token ends the text,
// and the grammar must allow the end there.
func TestNULEndsATokenOrTheText(t *testing.T) {
	for text, want := range map[string]string{
		"a,\x00b": "a,b", "a=\x00b": "a=b", "a=\x00\x00": "a=", "a in (b\x00)": "a in (b)", "a \x00b": "a",
	} {
		assert.Equal(t, want, parseLabels(t, text).String(), "%q", text)
	}
	assertRefused(t, "a\x00b", "a=\x00=b", "a, \x00", "a,\x00\x00b", "a in (b \x00)")
}
