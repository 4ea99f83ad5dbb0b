package selector

import (
	"strings"
	"unicode/utf8"

	"github.com/watchglass/watchglass/core/internal/lite"
)

// ParseFields parses a field selector. Its error is a [*SyntaxError].
//
//	selector = [ term ] { "," [ term ] }
//	term     = field ( "=" | "==" | "!=" ) value
//
// Whitespace is significant: it belongs to the adjacent field or value (FS2). In a value,
// a backslash must precede each backslash, comma and equals sign (FS4).
func ParseFields(text string) (Fields, error) {
	var parsed []parsedTerm
	for at := 0; at <= len(text); {
		source := text[at : at+termLength(text[at:])]
		if source != "" {
			t, err := parseTerm(text, at, source)
			if err != nil {
				return Fields{}, err
			}
			parsed = append(parsed, parsedTerm{source, t})
		}
		at += len(source) + 1
	}
	return fromParsed(parsed), nil
}

// parsedTerm is a term with its original text. Terms are sorted by that text
// (FS6).
type parsedTerm struct {
	source string
	fieldTerm
}

func fromParsed(parsed []parsedTerm) Fields {
	lite.Sort(parsed, func(a, b *parsedTerm) bool { return a.source < b.source })
	var f Fields
	for _, p := range parsed {
		if p.field != "" || p.value != "" { // FS8: "=" alone has no effect
			f.terms = append(f.terms, p.fieldTerm)
		}
	}
	return f
}

// termLength returns the length of the first term, which ends at the first unescaped
// comma (FS3) or at the end of s.
func termLength(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ',':
			return i
		case '\\':
			i++
		}
	}
	return len(s)
}

// parseTerm parses the term source, which begins at the offset "at" of text.
func parseTerm(text string, at int, source string) (fieldTerm, error) {
	equals := strings.IndexByte(source, '=')
	if equals < 0 {
		return fieldTerm{}, fieldError(text, at+len(source), "expected =, == or != after the field "+quote(source))
	}
	t := fieldTerm{field: source[:equals]}
	t.field, t.negated = strings.CutSuffix(t.field, "!")
	value := source[equals+1:]
	if !t.negated {
		value = strings.TrimPrefix(value, "=")
	}
	var bad int
	if t.value, bad = unescape(value); bad >= 0 {
		return fieldTerm{}, fieldError(text, at+len(source)-len(value)+bad, escapeProblem(value[bad:]))
	}
	return t, nil
}

// unescape returns the unescaped value and -1. For an invalid value, it returns the
// offset of an unescaped "=", or of a backslash that does not precede one of \ , = (FS4).
func unescape(s string) (value string, bad int) {
	if !lite.HasAny(s, escapable) {
		return s, -1
	}
	var b strings.Builder
	b.Grow(len(s))
	escaped := false
	// Iterate by rune: in a value with an escape, invalid UTF-8 becomes U+FFFD,
	// as in kube-apiserver.
	for i, r := range s {
		switch {
		case escaped && (r >= utf8.RuneSelf || !lite.HasAny(escapable, string(r))):
			return "", i - 1
		case !escaped && r == '=':
			return "", i
		}
		if escaped = !escaped && r == '\\'; !escaped {
			b.WriteRune(r)
		}
	}
	if escaped {
		return "", len(s) - 1
	}
	return b.String(), -1
}

func escapeProblem(found string) string {
	switch {
	case found == `\`:
		return `expected \, "," or = after the backslash, found the end`
	case found[0] == '\\':
		return `expected \, "," or = after the backslash, found ` + quote(found[1:])
	}
	return `a = inside a value is written \=`
}

func fieldError(text string, at int, message string) error {
	return &SyntaxError{Text: text, Offset: at, Message: message, language: "field selector"}
}
