package objectjson

// This file implements the grammar of JSON. Every function takes the bytes and an
// offset. It returns the offset after the parsed value, or the offset of the invalid
// byte with a fault. Offsets in registers and one-byte faults keep the hot path free
// of memory traffic. error.go creates messages only when they are needed.

// maxDepth limits the nesting of values, and thereby the size of the stack. Kubernetes
// objects reach about a dozen levels, schemas in CustomResourceDefinitions a few dozen.
const maxDepth = 256

// fault identifies the reason why input is invalid. Most faults name the expected input.
type fault uint8

const (
	sound fault = iota
	wantObject
	wantValue
	wantName
	wantColon
	wantCommaOrBrace
	wantCommaOrBracket
	wantEscape
	wantHexDigit
	wantPrintable
	wantDigit
	wantEnd
	tooDeep
)

// skipSpace returns the offset of the next byte that is not whitespace. JSON from programs
// rarely contains whitespace, so the case without it is separate and small enough to be inlined.
func skipSpace(b []byte, i int) int {
	if i < len(b) && b[i] > ' ' {
		return i
	}
	return skipBlanks(b, i)
}

func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// at returns the byte at i. Past the end it returns zero, which no grammar rule
// accepts.
func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

// open enters the container that begins at i. It returns the offset of the first element
// and true, or the offset after an empty container and false.
func open(b []byte, i int, closing byte) (pos int, more bool) {
	i = skipSpace(b, i+1)
	if at(b, i) == closing {
		return i + 1, false
	}
	return i, true
}

// next returns the beginning of the element that follows the element ending at i, and
// true. If the container ends, next returns the offset after the container and false.
func next(b []byte, i int, closing byte) (pos int, more bool, f fault) {
	i = skipSpace(b, i)
	switch at(b, i) {
	case ',':
		return skipSpace(b, i+1), true, sound
	case closing:
		return i + 1, false, sound
	}
	if closing == '}' {
		return i, false, wantCommaOrBrace
	}
	return i, false, wantCommaOrBracket
}

// member parses a member's name and colon. The name, with its quotes, is b[i:nameEnd].
// The result "value" is the offset of the member's value or, on a fault, of the invalid
// byte.
func member(b []byte, i int) (nameEnd, value int, f fault) {
	if at(b, i) != '"' {
		return 0, i, wantName
	}
	nameEnd, f = skipString(b, i)
	if f != sound {
		return 0, nameEnd, f
	}
	i = skipSpace(b, nameEnd)
	if at(b, i) != ':' {
		return 0, i, wantColon
	}
	return nameEnd, skipSpace(b, i+1), sound
}

// skipValue skips the value at i. The argument depth is the number of enclosing
// containers.
func skipValue(b []byte, i, depth int) (int, fault) {
	switch at(b, i) {
	case '"':
		return skipString(b, i)
	case '{':
		return skipObject(b, i, depth)
	case '[':
		return skipArray(b, i, depth)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return skipNumber(b, i)
	}
	return i, wantValue
}

func skipObject(b []byte, i, depth int) (int, fault) {
	if depth == maxDepth {
		return i, tooDeep
	}
	i, more := open(b, i, '}')
	for more {
		_, value, f := member(b, i)
		if f != sound {
			return value, f
		}
		if i, f = skipValue(b, value, depth+1); f != sound {
			return i, f
		}
		if i, more, f = next(b, i, '}'); f != sound {
			return i, f
		}
	}
	return i, sound
}

func skipArray(b []byte, i, depth int) (int, fault) {
	if depth == maxDepth {
		return i, tooDeep
	}
	i, more := open(b, i, ']')
	for more {
		var f fault
		if i, f = skipValue(b, i, depth+1); f != sound {
			return i, f
		}
		if i, more, f = next(b, i, ']'); f != sound {
			return i, f
		}
	}
	return i, sound
}

// skipString skips the string whose opening quote is at i. Like encoding/json, it accepts
// invalid UTF-8.
func skipString(b []byte, i int) (int, fault) {
	for i++; len(b)-i >= 8; i += 8 {
		if hit := unusual(word(b[i:])); hit != 0 {
			if i += firstMark(hit); b[i] == '"' {
				return i + 1, sound
			}
			break
		}
	}
	return skipEscaped(b, i)
}

// skipEscaped skips the rest of a string, byte by byte.
func skipEscaped(b []byte, i int) (int, fault) {
	for {
		switch c := at(b, i); {
		case c == '"':
			return i + 1, sound
		case c == '\\':
			end, f := skipEscape(b, i)
			if f != sound {
				return end, f
			}
			i = end
		case c < ' ':
			return i, wantPrintable
		default:
			i++
		}
	}
}

// unusual marks the lowest byte that is a quote, a backslash or a control character.
// Marks of higher bytes may be wrong, because a borrow may affect the next byte.
func unusual(x uint64) uint64 {
	quote, backslash := x^ones*'"', x^ones*'\\'
	return ((quote-ones)&^quote | (backslash-ones)&^backslash | (x-ones*' ')&^x) & highs
}

func skipEscape(b []byte, i int) (int, fault) {
	switch at(b, i+1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, sound
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if hexDigit(at(b, k)) < 0 {
				return k, wantHexDigit
			}
		}
		return i + 6, sound
	}
	return i + 1, wantEscape
}

// skipWord skips a word. If the input differs, the fault is at the first byte of the
// word. If the input ends within the word, the fault is at the end of the input.
func skipWord(b []byte, i int, word string) (int, fault) {
	rest := b[i:min(i+len(word), len(b))]
	switch {
	case string(rest) == word:
		return i + len(word), sound
	case string(rest) == word[:len(rest)]:
		return len(b), wantValue
	}
	return i, wantValue
}

func skipNumber(b []byte, i int) (int, fault) {
	if b[i] == '-' {
		i++
	}
	f := sound
	if at(b, i) == '0' {
		i++ // only a fraction or an exponent may follow a leading zero
	} else if i, f = skipDigits(b, i); f != sound {
		return i, f
	}
	if at(b, i) == '.' {
		if i, f = skipDigits(b, i+1); f != sound {
			return i, f
		}
	}
	if c := at(b, i); c == 'e' || c == 'E' {
		if c := at(b, i+1); c == '+' || c == '-' {
			i++
		}
		return skipDigits(b, i+1)
	}
	return i, sound
}

// skipDigits skips one or more digits.
func skipDigits(b []byte, i int) (int, fault) {
	if !isDigit(at(b, i)) {
		return i, wantDigit
	}
	for isDigit(at(b, i)) {
		i++
	}
	return i, sound
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
