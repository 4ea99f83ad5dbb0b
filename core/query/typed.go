package query

import (
	"math"
	"strings"
	"unsafe"

	"github.com/watchglass/watchglass/core/api"
)

// Natural returns a value that compares as people expect. An empty text is null, and a
// quantity such as 512Mi is a number. Any other text is replaced by a text whose byte
// order is the natural order (see appendNatural). The result may alias the value or the
// buffer, which Natural returns for reuse.
func Natural(v api.Value, buffer []byte) (api.Value, []byte) {
	if v.Kind != api.String {
		return v, buffer
	}
	if f, ok := ParseQuantity(v.Text); ok {
		return api.Value{Kind: api.Number, Float: f}, buffer
	}
	return NaturalText(v, buffer)
}

// NaturalText is like Natural but does not convert quantities. Callers use NaturalText
// for names.
func NaturalText(v api.Value, buffer []byte) (api.Value, []byte) {
	if v.Kind != api.String {
		return v, buffer
	}
	if v.Text == "" {
		return api.Value{}, buffer
	}
	if isNatural(v.Text) {
		return v, buffer
	}
	buffer = appendNatural(buffer[:0], v.Text)
	return text(borrow(buffer)), buffer
}

// borrow returns a string that aliases the bytes. A conversion would allocate for
// every comparison.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// isNatural reports whether a text contains no digits and no colons, so that
// appendNatural would leave it unchanged.
func isNatural(s string) bool {
	for i := range len(s) {
		if s[i] <= ':' && s[i] >= '0' {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// longNumber is the minimum number of digits of a number whose marker is '9'. A second
// byte then contains the number of digits beyond longNumber, at most 255.
const longNumber = 9

// appendNatural appends a text whose byte order is the natural order of s. Numbers in
// texts compare by value: node-2 precedes node-10, v1.9 precedes v1.10, and 10.0.0.9
// precedes 10.0.0.10. An IPv6 address becomes a colon and its 16 bytes.
//
// A number becomes a marker, followed by the digits of the number without leading zeros.
// The marker encodes the number of these digits (see longNumber).
func appendNatural(dst []byte, s string) []byte {
	if address, ok := parseIPv6(s); ok {
		return append(append(dst, ':'), address[:]...)
	}
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && !isDigit(s[i]) {
			i++
		}
		if dst = append(dst, s[start:i]...); i == len(s) {
			break
		}
		for i < len(s) && s[i] == '0' {
			i++
		}
		end := i
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		if n := end - i; n < longNumber {
			dst = append(dst, '0'+byte(n))
		} else {
			dst = append(dst, '0'+longNumber, byte(min(n-longNumber, math.MaxUint8)))
		}
		dst = append(dst, s[i:end]...)
		i = end
	}
	return dst
}

// parseIPv6 parses an address in hexadecimal notation, and returns false for other texts.
func parseIPv6(s string) (address [16]byte, ok bool) {
	if strings.IndexByte(s, ':') < 0 || len(s) > 39 {
		return address, false
	}
	gap, n := -1, 0 // the offset of "::", and the number of bytes so far
	if strings.HasPrefix(s, "::") {
		gap, s = 0, s[2:]
	}
	for s != "" {
		digits, group := 0, 0
		for digits < len(s) && digits < 5 && hexDigit(s[digits]) >= 0 {
			group = group<<4 | hexDigit(s[digits])
			digits++
		}
		if digits == 0 || digits > 4 || n == len(address) {
			return address, false
		}
		address[n], address[n+1] = byte(group>>8), byte(group)
		n, s = n+2, s[digits:]
		switch {
		case s == "":
		case strings.HasPrefix(s, "::") && gap < 0:
			gap, s = n, s[2:]
		case s[0] == ':' && len(s) > 1 && s[1] != ':':
			s = s[1:]
		default:
			return address, false
		}
	}
	if gap < 0 {
		return address, n == len(address)
	}
	if n == len(address) {
		return address, false
	}
	tail := n - gap
	copy(address[len(address)-tail:], address[gap:n])
	clear(address[gap : len(address)-tail])
	return address, true
}

func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// ParseQuantity parses a Kubernetes quantity: a decimal number with an optional sign and
// suffix. Suffixes are n u m k M G T P E, Ki Mi Gi Ti Pi Ei, and exponents such as e3.
func ParseQuantity(s string) (float64, bool) {
	mantissa, exponent, rest, ok := decimal(s)
	if !ok {
		return 0, false
	}
	if power, ok := decimalSuffix(rest); ok {
		return scale(mantissa, exponent+power), true
	}
	if len(rest) == 2 && rest[1] == 'i' {
		if i := strings.IndexByte("KMGTPE", rest[0]); i >= 0 {
			return scale(mantissa, exponent) * float64(int64(1)<<(10*(i+1))), true
		}
	}
	if rest[0] == 'e' || rest[0] == 'E' {
		if power, ok := exponentOf(rest[1:]); ok {
			return scale(mantissa, exponent+power), true
		}
	}
	return 0, false
}

// maxDigits is the number of decimal digits that always fit a uint64.
const maxDigits = 19

// decimal parses the number at the start of s: mantissa * 10^exponent. Digits beyond
// the 19th significant one are dropped.
func decimal(s string) (mantissa float64, exponent int, rest string, ok bool) {
	i, negative := 0, false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		i, negative = 1, s[0] == '-'
	}
	var n uint64
	digits, seen, point := 0, false, false
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.' && !point:
			point = true
			continue
		case !isDigit(c):
		default:
			seen = true
			if digits < maxDigits {
				n = 10*n + uint64(c-'0')
				if n > 0 {
					digits++
				}
				if point {
					exponent--
				}
			} else if !point {
				exponent++
			}
			continue
		}
		break
	}
	if mantissa = float64(n); negative {
		mantissa = -mantissa
	}
	return mantissa, exponent, s[i:], seen
}

func decimalSuffix(s string) (power int, ok bool) {
	if s == "" {
		return 0, true
	}
	if len(s) == 1 {
		if i := strings.IndexByte("num kMGTPE", s[0]); i >= 0 && s[0] != ' ' {
			return 3*i - 9, true
		}
	}
	return 0, false
}

func exponentOf(s string) (power int, ok bool) {
	negative := s != "" && s[0] == '-'
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	if s == "" || len(s) > 3 {
		return 0, false
	}
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
		power = 10*power + int(s[i]-'0')
	}
	if negative {
		power = -power
	}
	return power, true
}

// scale returns f * 10^power. For integers up to 2^53 and powers up to 22, the result is
// the closest float64.
func scale(f float64, power int) float64 {
	for ; power >= 22; power -= 22 {
		f *= 1e22
	}
	for ; power <= -22; power += 22 {
		f /= 1e22
	}
	p := 1.0
	for range max(power, -power) {
		p *= 10
	}
	if power < 0 {
		return f / p
	}
	return f * p
}
