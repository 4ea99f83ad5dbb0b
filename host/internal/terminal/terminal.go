// Package terminal makes untrusted text, such as names and error messages of a
// server, safe to print on a terminal.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unsafe reports whether a terminal interprets a rune instead of displaying it. Such
// runes are the C0 and C1 controls, and the bidirectional controls, which reorder the
// text around them.
func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Text returns a text that is safe to print within a line, such as in a cell of a table. It
// replaces each unsafe control with a space.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if unsafe(r) {
			return ' '
		}
		return r
	}, text)
}

// NewWriter returns a writer that replaces controls other than newlines and tabs with
// JSON escapes, such as "\u001b". The escapes do not change the value of a JSON
// document. Invalid UTF-8 becomes U+FFFD, so each Write must end with a complete rune.
func NewWriter(w io.Writer) io.Writer { return writer{w} }

type writer struct{ io.Writer }

// Write implements io.Writer.
func (w writer) Write(text []byte) (int, error) {
	escaped := text
	if i := firstUnsafe(text); i < len(text) {
		escaped = escape(append([]byte(nil), text[:i]...), text[i:])
	}
	if _, err := w.Writer.Write(escaped); err != nil {
		return 0, err
	}
	return len(text), nil
}

// firstUnsafe returns the index of the first rune that must be escaped, or the
// length of the text.
func firstUnsafe(text []byte) int {
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if mustEscape(r, size) {
			return i
		}
		i += size
	}
	return len(text)
}

func mustEscape(r rune, size int) bool {
	return unsafe(r) && r != '\n' && r != '\t' || r == utf8.RuneError && size == 1
}

func escape(dst, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if mustEscape(r, size) && r != utf8.RuneError {
			dst = fmt.Appendf(dst, `\u%04x`, r)
			continue
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
