package lite

import (
	"math"
	"unicode/utf8"
)

// The functions below replace those of package strconv, which would add tables
// and error types to the WebAssembly module.

// Quote returns text in double quotes. Like strconv.Quote, it escapes quotes, backslashes,
// ASCII control characters and invalid UTF-8, but it writes \a, \b, \f and \v as \x escapes.
func Quote(text string) string {
	const hex = "0123456789abcdef"
	quoted := []byte{'"'}
	for i := 0; i < len(text); {
		c := text[i]
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c == '\n':
			quoted = append(quoted, `\n`...)
		case c == '\t':
			quoted = append(quoted, `\t`...)
		case c == '\r':
			quoted = append(quoted, `\r`...)
		case c < ' ' || c == 0x7f || r == utf8.RuneError && n == 1:
			quoted = append(quoted, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			quoted = append(quoted, text[i:i+n]...)
		}
		i += n
	}
	return string(append(quoted, '"'))
}

// ParseUint parses a decimal number that consists of digits only. It returns false
// for other text, and for a number beyond 64 bits.
//
//go:noinline
func ParseUint(text string) (uint64, bool) {
	if text == "" {
		return 0, false
	}
	var n uint64
	for i := range len(text) {
		digit := uint64(text[i] - '0')
		if digit > 9 || n > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		n = 10*n + digit
	}
	return n, true
}

// ParseInt parses a decimal number with an optional sign. It returns false for other
// text, and for a number that does not fit in an int64.
func ParseInt(text string) (int64, bool) {
	negative := text != "" && text[0] == '-'
	if negative || text != "" && text[0] == '+' {
		text = text[1:]
	}
	n, ok := ParseUint(text)
	switch {
	case !ok:
		return 0, false
	case negative:
		return -int64(n), n <= 1<<63
	}
	return int64(n), n <= math.MaxInt64
}

// EqualFold reports whether a and b are equal, ignoring ASCII case.
//
//go:noinline
func EqualFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// Cut splits text at the first separator, like strings.Cut.
//
//go:noinline
func Cut(text string, separator byte) (before, after string, found bool) {
	for i := range len(text) {
		if text[i] == separator {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// Join concatenates texts with a separator, like strings.Join.
//
//go:noinline
func Join(texts []string, separator string) string {
	var joined []byte
	for i, text := range texts {
		if i > 0 {
			joined = append(joined, separator...)
		}
		joined = append(joined, text...)
	}
	return string(joined)
}

// HasAny reports whether text contains any of the given ASCII characters.
func HasAny(text, some string) bool {
	for i := range len(text) {
		for j := range len(some) {
			if text[i] == some[j] {
				return true
			}
		}
	}
	return false
}

// Clone returns a copy of text. Use it for text that aliases memory that will be
// reused.
//
//go:noinline
func Clone(text string) string { return string([]byte(text)) }
