package selector

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/internal/lite"
)

// Fields is a field selector: a conjunction of terms. The zero value selects
// everything. Fields is immutable and safe to copy.
type Fields struct {
	terms []fieldTerm
}

// fieldTerm is field=value or, if negated, field!=value.
type fieldTerm struct {
	field, value string
	negated      bool
}

func (t fieldTerm) matches(value string) bool { return (value == t.value) != t.negated }

//go:noinline
func (t fieldTerm) String() string {
	op := "="
	if t.negated {
		op = "!="
	}
	return t.field + op + EscapeValue(t.value)
}

// Matches reports whether every term holds. The function get returns the value of a
// field. If get returns false, the value is "" (FS5).
func (f Fields) Matches(get func(field string) (string, bool)) bool {
	for _, t := range f.terms {
		value, ok := get(t.field)
		if !ok {
			value = ""
		}
		if !t.matches(value) {
			return false
		}
	}
	return true
}

// Empty reports whether the selector selects everything.
func (f Fields) Empty() bool { return len(f.terms) == 0 }

// String returns the canonical text (FS6). Parsing this text gives the same terms, but
// their order may change: terms are sorted by their original text, and String prints "=="
// as "=". For example, the terms of "a==2,a=1" change their order.
func (f Fields) String() string {
	texts := make([]string, len(f.terms))
	for i, t := range f.terms {
		texts[i] = t.String()
	}
	return lite.Join(texts, ",")
}

// RequiresExactMatch returns the value of the first = term on the field (FS7). It returns
// false if there is no such term. The result helps to find candidates in an index;
// Matches must still check each candidate.
func (f Fields) RequiresExactMatch(field string) (value string, ok bool) {
	i := slices.IndexFunc(f.terms, func(t fieldTerm) bool { return t.field == field && !t.negated })
	if i < 0 {
		return "", false
	}
	return f.terms[i].value, true
}

// EscapeValue escapes a value for use in a field selector: it puts a backslash
// before each backslash, comma and equals sign (FS4).
func EscapeValue(s string) string {
	if !lite.HasAny(s, escapable) {
		return s
	}
	escaped := make([]byte, 0, len(s)+8)
	for i := range len(s) {
		if strings.IndexByte(escapable, s[i]) >= 0 {
			escaped = append(escaped, '\\')
		}
		escaped = append(escaped, s[i])
	}
	return string(escaped)
}

const escapable = `\,=`
