package objectjson

import "unicode/utf8"

// isPlain reports whether the bytes between the quotes of a JSON string are already
// its text: ASCII without escapes.
func isPlain(quoted []byte) bool {
	for len(quoted) >= 8 {
		x := word(quoted)
		if equal(x, '\\')|x&highs != 0 {
			return false
		}
		quoted = quoted[8:]
	}
	for _, c := range quoted {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendText appends the text of a valid JSON string, given without its quotes. Invalid
// UTF-8 and unpaired surrogates become U+FFFD, as in encoding/json.
func appendText(dst, quoted []byte) []byte {
	if isPlain(quoted) {
		return append(dst, quoted...)
	}
	for i := 0; i < len(quoted); {
		switch c := quoted[i]; {
		case c == '\\':
			var r rune
			r, i = readEscape(quoted, i)
			dst = utf8.AppendRune(dst, r)
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, size := utf8.DecodeRune(quoted[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
		}
	}
	return dst
}

// readEscape decodes the escape at i and returns the offset after it.
func readEscape(quoted []byte, i int) (rune, int) {
	switch c := quoted[i+1]; c {
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
		return readUnicode(quoted, i)
	default: // a quote, a backslash or a slash
		return rune(c), i + 2
	}
}

// readUnicode decodes \uXXXX, or two of them if they are a surrogate pair.
func readUnicode(quoted []byte, i int) (rune, int) {
	const high, low, end, supplementary = 0xD800, 0xDC00, 0xE000, 0x10000
	r := readHex(quoted, i)
	if r < high || r >= end {
		return r, i + 6
	}
	if second := readHex(quoted, i+6); r < low && second >= low && second < end {
		return (r-high)<<10 + (second - low) + supplementary, i + 12
	}
	return utf8.RuneError, i + 6
}

// readHex returns the number in the escape \uXXXX at i, or -1 if there is no such escape.
func readHex(quoted []byte, i int) rune {
	if at(quoted, i) != '\\' || at(quoted, i+1) != 'u' {
		return -1
	}
	var r rune
	for _, c := range quoted[i+2 : i+6] {
		r = r<<4 + hexDigit(c)
	}
	return r
}

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) rune {
	switch {
	case isDigit(c):
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// sameText reports whether a JSON string, given without its quotes, decodes to name.
func sameText(quoted []byte, name string) bool {
	return string(quoted) == name && isPlain(quoted) || !isPlain(quoted) && sameEscaped(quoted, name)
}

//go:noinline
func sameEscaped(quoted []byte, name string) bool {
	var buf [64]byte
	return string(appendText(buf[:0], quoted)) == name
}
