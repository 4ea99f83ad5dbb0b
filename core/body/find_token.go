//go:build !wasip1

package body

import "time"

// token is the position and kind of a text that is encoded as a token.
type token struct {
	kind, at, length int
}

// size returns the encoded size of the token.
func (t token) size() int {
	_, size := tokenSize(t.kind)
	return 2 + size
}

// maxTokenLookBack is the number of bytes before the end of a copy in which the encoder
// searches for the start of a token.
const maxTokenLookBack = 80

// isTokenByte reports whether a byte can occur in the text of a token.
func isTokenByte(c byte) bool {
	return isHex(c) || c == '-' || c == ':' || c == '.' || c == 'T' || c == 'Z'
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// tokenAt returns the token that begins at an offset of a text, or the zero token if
// there is none.
func tokenAt(text []byte, at int) token {
	rest := text[at:]
	if len(rest) < hexTokenDigits || !isHex(rest[0]) || at > 0 && isWord(text[at-1]) {
		return token{}
	}
	n := hexDigits(rest)
	switch {
	case n == 4 && isTime(rest):
		if len(rest) >= microLength && isMicro(rest) {
			return token{microToken, at, microLength}
		}
		if rest[timeLength-1] == 'Z' {
			return token{timeToken, at, timeLength}
		}
	case n == 8 && isUUID(rest):
		return token{uuidToken, at, uuidLength}
	case n >= hexTokenDigits:
		return token{n / 2, at, n / 2 * 2}
	}
	return token{}
}

// hexDigits counts the hexadecimal digits at the start of a text, up to the maximum
// number in a token.
func hexDigits(text []byte) int {
	n := 0
	for n < len(text) && n < 2*maxHexToken && isHex(text[n]) {
		n++
	}
	return n
}

func isUUID(text []byte) bool {
	if len(text) < uuidLength {
		return false
	}
	for i, p := range uuidParts {
		if i > 0 && text[p.at-1] != '-' {
			return false
		}
		if size := 2 * (p.to - p.from); hexDigits(text[p.at:p.at+size]) != size {
			return false
		}
	}
	return true
}

// isTime reports whether a text begins with a time that a token can encode. It checks
// the text up to the seconds.
func isTime(text []byte) bool {
	if len(text) < timeLength || text[4] != '-' || text[10] != 'T' {
		return false
	}
	_, ok := unixSeconds(text)
	return ok
}

func isMicro(text []byte) bool {
	return text[timeLength-1] == '.' && text[microLength-1] == 'Z' && isNumber(text[timeLength:microLength-1])
}

func isNumber(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func unixSeconds(text []byte) (uint32, bool) {
	t, err := time.Parse("2006-01-02T15:04:05", string(text[:timeLength-1]))
	s := t.Unix()
	return uint32(s), err == nil && s == int64(uint32(s))
}

// append appends the encoding of the token to dst. The position of the token is an
// offset in text.
func (t token) append(dst, text []byte) []byte {
	text = text[t.at : t.at+t.length]
	dst = append(dst, tokenTag<<2, byte(t.kind))
	switch t.kind {
	case uuidToken:
		for _, p := range uuidParts {
			dst = appendHex(dst, text[p.at:p.at+2*(p.to-p.from)])
		}
		return dst
	case timeToken, microToken:
		s, _ := unixSeconds(text)
		dst = append(dst, byte(s), byte(s>>8), byte(s>>16), byte(s>>24))
		if t.kind == microToken {
			n := uint32(0)
			for _, c := range text[timeLength : microLength-1] {
				n = 10*n + uint32(c-'0')
			}
			dst = append(dst, byte(n), byte(n>>8), byte(n>>16))
		}
		return dst
	}
	return appendHex(dst, text)
}

func appendHex(dst, text []byte) []byte {
	for i := 0; i < len(text); i += 2 {
		dst = append(dst, value(text[i])<<4|value(text[i+1]))
	}
	return dst
}

// value returns the number that a lower-case hexadecimal digit represents.
func value(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'a' + 10
}
