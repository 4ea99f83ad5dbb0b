package selector_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/selector"
)

func TestSyntaxError_LabelMessages(t *testing.T) {
	for text, want := range map[string]string{
		`a in b`:      `at offset 5: expected "(" after in, found "b"`,
		`a in (b`:     `at offset 7: expected "," or ")" in the values of in, found the end`,
		`a in (b c)`:  `at offset 8: expected "," or ")" in the values of in, found "c"`,
		`a,`:          `at offset 2: expected a label key, found the end`,
		`,a`:          `at offset 0: expected a label key, found ","`,
		`a b`:         `at offset 2: expected one of = == != in notin > <, found "b"`,
		`a===b`:       `at offset 3: expected a value after ==, found "="`,
		`a>=1`:        `at offset 2: expected a value after >, found "="`,
		`!a=b`:        `at offset 2: expected "," or the end, found "="`,
		`app=web,k>x`: `at offset 10: operator > needs a whole number of at most 64 bits, found "x"`,
		`k>-1`:        `at offset 2: invalid label value "-1": it must begin and end with a letter or a digit`,
		`k in (a,b%)`: `at offset 8: invalid label value "b%": it must begin and end with a letter or a digit`,
		`a%b=c`:       `at offset 0: invalid label key "a%b": only letters, digits, "-", "_" and "." are allowed`,
		`x=1, X/a=1`: `at offset 5: invalid label key "X/a": the prefix must be lower-case letters, digits and "-" ` +
			`in parts joined by ".", each beginning and ending with a letter or a digit`,
		`x/`: `at offset 0: invalid label key "x/": the name is empty`,
	} {
		_, err := selector.ParseLabels(text)
		assert.EqualError(t, err, `label selector "`+text+`": `+want)
	}
}

func TestSyntaxError_FieldMessages(t *testing.T) {
	for text, want := range map[string]string{
		`a=b,c`:      `at offset 5: expected =, == or != after the field "c"`,
		`,,a=b=c`:    `at offset 5: a = inside a value is written \=`,
		`a=b,x!=\,=`: `at offset 9: a = inside a value is written \=`,
		`a=x\y`:      `at offset 3: expected \, "," or = after the backslash, found "y"`,
		`a=x\`:       `at offset 3: expected \, "," or = after the backslash, found the end`,
	} {
		_, err := selector.ParseFields(text)
		var syntax *selector.SyntaxError
		if assert.ErrorAs(t, err, &syntax) {
			assert.Contains(t, syntax.Error(), want)
			assert.True(t, strings.HasPrefix(syntax.Error(), "field selector "))
		}
	}
}

func TestSyntaxError_IsABadRequest(t *testing.T) {
	_, err := selector.ParseLabels("a=\nb=c")
	var syntax *selector.SyntaxError
	assert.ErrorAs(t, err, &syntax)
	assert.NotContains(t, err.Error(), "\n", "one line, whatever the text")
	assertBadRequest(t, syntax.Status(), err.Error())
}

func TestSyntaxError_StaysShort(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 1<<20), "a=" + strings.Repeat("%", 1<<20), strings.Repeat("a,", 1<<20)} {
		_, err := selector.ParseLabels(text)
		assert.Less(t, len(err.Error()), 1000)
		_, err = selector.ParseFields(`\` + strings.ReplaceAll(text, "a,", "a") + `=\` + text)
		assert.Less(t, len(err.Error()), 1000)
	}
}
