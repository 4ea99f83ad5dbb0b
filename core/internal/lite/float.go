package lite

import (
	"math"
	"math/bits"
)

const (
	// maxDigits is the number of significant digits that are parsed exactly. It is
	// sufficient, because no float and no midpoint of two floats has more than 767
	// significant digits.
	maxDigits = 800
	// greatestExponent and leastExponent limit the exponent in digits * 10^exponent,
	// where digits has up to maxDigits digits. A number with a larger exponent exceeds
	// all floats. A number with a smaller one rounds to zero.
	greatestExponent, leastExponent = 400, -1200
	// mantissaBits is the number of bits of a float's mantissa. The lowest bit has a
	// value between 2^leastBit and 2^greatestBit.
	mantissaBits            = 53
	leastBit, greatestBit   = -1074, 971
	maxPower, maxExactPower = 1 << 20, 22
)

// ParseFloat returns the float that is closest to a JSON number, as strconv.ParseFloat
// does. It returns false for invalid text, and for a number whose absolute value exceeds
// all floats.
func ParseFloat(text string) (float64, bool) {
	var words [2]uint32
	number, exponent, ok := parseDecimal(words[:0], text)
	if !ok {
		return 0, false
	}
	f, ok := number.float(exponent)
	if text[0] == '-' {
		f = -f
	}
	return f, ok
}

// parseDecimal parses a number as n * 10^exponent, without its sign.
func parseDecimal(n natural, text string) (_ natural, exponent int, ok bool) {
	digits, point, more := 0, false, false
	i := 0
	if text != "" && text[0] == '-' {
		i++
	}
	for ; i < len(text); i++ {
		digit := uint32(text[i] - '0')
		if text[i] == '.' && !point {
			point = true
			continue
		}
		if digit > 9 {
			break
		}
		ok = true
		if digits < maxDigits {
			if n = n.timesTen(digit); len(n) > 0 {
				digits++
			}
		} else {
			more = more || digit > 0
			exponent++
		}
		if point {
			exponent--
		}
	}
	if more {
		n, exponent = n.timesTen(1), exponent-1
	}
	if ok && i < len(text) {
		var power int
		power, ok = parsePower(text[i:])
		exponent += power
	}
	return n, exponent, ok
}

// parsePower parses the exponent part of a JSON number, such as e-3. It limits the result
// to maxPower in either direction.
func parsePower(text string) (power int, ok bool) {
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	text = text[1:]
	negative := text != "" && text[0] == '-'
	if negative || text != "" && text[0] == '+' {
		text = text[1:]
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		power = min(10*power+int(text[i]-'0'), maxPower)
	}
	if negative {
		power = -power
	}
	return power, text != ""
}

// natural is a natural number of any size. The least significant word comes first, and a
// parsed zero has no words.
type natural []uint32

// timesTen returns 10*n + digit. It reuses the memory of n.
func (n natural) timesTen(digit uint32) natural {
	carry := uint64(digit)
	for i := range n {
		carry += 10 * uint64(n[i])
		n[i] = uint32(carry)
		carry >>= 32
	}
	if carry > 0 {
		n = append(n, uint32(carry))
	}
	return n
}

// byTen divides n by 10 and returns the remainder.
func (n natural) byTen() (remainder uint64) {
	for i := len(n) - 1; i >= 0; i-- {
		remainder = remainder<<32 | uint64(n[i])
		n[i] = uint32(remainder / 10)
		remainder %= 10
	}
	return remainder
}

// bit returns bit i of n, counted from the lowest.
func (n natural) bit(i int) uint64 {
	if i/32 >= len(n) {
		return 0
	}
	return uint64(n[i/32] >> (i % 32) & 1)
}

// length returns the number of bits of n.
func (n natural) length() int {
	for i := len(n) - 1; i >= 0; i-- {
		if n[i] > 0 {
			return 32*i + bits.Len32(n[i])
		}
	}
	return 0
}

// float returns the closest float to n * 10^exponent, or false if the number exceeds
// all floats.
func (n natural) float(exponent int) (float64, bool) {
	if exponent > greatestExponent {
		return 0, len(n) == 0
	}
	if len(n) == 0 || exponent < leastExponent {
		return 0, true
	}
	if f, ok := n.exact(exponent); ok {
		return f, true
	}
	for ; exponent > 0; exponent-- {
		n = n.timesTen(0)
	}
	// Shift n left by at least 128 bits more than the length of the divisor, so that
	// the quotient has enough bits.
	words := 4 - exponent*10/96 + 1
	n = append(make(natural, words), n...)
	for ; exponent < 0; exponent++ {
		if n.byTen() > 0 {
			n[0] |= 1 // rounding needs to know only whether a remainder exists
		}
	}
	return n.scaled(-32 * words)
}

// exact returns n * 10^exponent, or false if a step of the computation may not be
// exact.
func (n natural) exact(exponent int) (float64, bool) {
	if n.length() > mantissaBits || max(exponent, -exponent) > maxExactPower {
		return 0, false
	}
	var f, power float64 = 0, 1
	for i := len(n) - 1; i >= 0; i-- {
		f = f*(1<<32) + float64(n[i])
	}
	for range max(exponent, -exponent) {
		power *= 10
	}
	if exponent < 0 {
		return f / power, true
	}
	return f * power, true
}

// scaled returns the closest float to n * 2^exponent, or false if the number exceeds
// all floats. The number n must have more bits than a mantissa.
func (n natural) scaled(exponent int) (float64, bool) {
	length := n.length()
	lowest := max(length-mantissaBits, leastBit-exponent)
	if lowest+exponent > greatestBit {
		return 0, false
	}
	var mantissa uint64
	for i := length - 1; i >= lowest; i-- {
		mantissa = mantissa<<1 | n.bit(i)
	}
	rest := 0
	for n.bit(rest) == 0 {
		rest++
	}
	if n.bit(lowest-1) > 0 && (rest < lowest-1 || mantissa&1 > 0) {
		mantissa++
	}
	// If the mantissa has 53 bits, the addition carries the highest bit into the
	// exponent, as the format requires.
	f := math.Float64frombits(uint64(lowest+exponent-leastBit)<<(mantissaBits-1) + mantissa)
	return f, !math.IsInf(f, 0)
}
