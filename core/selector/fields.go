package selector

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Fields is a field selector: terms that must all hold. The zero value selects
// everything. It is immutable and safe to copy.
type Fields struct {
	terms []fieldTerm
}

// fieldTerm is field=value or, when negated, field!=value.
type fieldTerm struct {
	field, value string
	negated      bool
}

func (t fieldTerm) matches(value string) bool { return (value == t.value) != t.negated }

func (t fieldTerm) String() string {
	op := "="
	if t.negated {
		op = "!="
	}
	return t.field + op + EscapeValue(t.value)
}

// Matches reports whether every term holds. A field that get does not know
// compares as "" (FS5).
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

// String is the canonical text (FS6). Parsing it gives the same terms; but terms
// are ordered by their text as written, "==" is rewritten to "=", and so
// "a==2,a=1", which matches nothing, changes the order of its terms when read
// back.
func (f Fields) String() string {
	texts := make([]string, len(f.terms))
	for i, t := range f.terms {
		texts[i] = t.String()
	}
	return api.Join(texts, ",")
}

// RequiresExactMatch returns the value of the first = term on the field (FS7).
// As with labels, it chooses an index and decides nothing.
func (f Fields) RequiresExactMatch(field string) (value string, ok bool) {
	i := slices.IndexFunc(f.terms, func(t fieldTerm) bool { return t.field == field && !t.negated })
	if i < 0 {
		return "", false
	}
	return f.terms[i].value, true
}

// EscapeValue writes a value so that it can stand in a field selector: a
// backslash goes before each backslash, comma and equals sign (FS4).
func EscapeValue(s string) string {
	if !api.HasAny(s, escapable) {
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
