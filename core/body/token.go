package body

// A token encodes a text of known form in about half its bytes. UIDs, times and
// digests make up most of an object's unique data. The byte after the tag selects
// the form:
//
//	0  a UUID in lower case, 16 bytes
//	1  a time such as 2026-05-01T12:00:00Z, 4 bytes: seconds since 1970
//	2  a time such as 2026-05-01T12:00:00.123456Z, 7 bytes: the microseconds follow
//	n  2n hexadecimal digits in lower case, n bytes
const (
	uuidToken = iota
	timeToken
	microToken
	leastHexToken // shorter texts are literals

	uuidLength  = 36
	timeLength  = 20
	microLength = 27
	maxHexToken = 255
	// hexTokenDigits is the minimum number of digits of a token. Fewer digits are encoded
	// as a literal.
	hexTokenDigits = 12
)

const digits = "0123456789abcdef"

// token decodes the next token. It returns false if the token is invalid.
func (b *block) token() bool {
	kind, ok := b.number(1)
	if !ok {
		return false
	}
	length, size := tokenSize(kind)
	if size > len(b.src)-b.s || length > len(b.dst)-b.d {
		return false
	}
	src, dst := b.src[b.s:b.s+size], b.dst[b.d:b.d+length]
	b.s += size
	b.d += length
	switch kind {
	case uuidToken:
		putUUID(dst, src)
	case timeToken:
		putTime(dst, seconds(src))
		dst[timeLength-1] = 'Z'
	case microToken:
		micros := uint32(src[4]) | uint32(src[5])<<8 | uint32(src[6])<<16
		if micros >= 1_000_000 {
			return false
		}
		putTime(dst, seconds(src))
		dst[timeLength-1] = '.'
		putNumber(dst[timeLength:microLength-1], micros)
		dst[microLength-1] = 'Z'
	default:
		putHex(dst, src)
	}
	return true
}

// tokenSize returns the length of a token's text, and the size of its encoding after
// the byte that selects the form.
func tokenSize(kind int) (length, size int) {
	switch kind {
	case uuidToken:
		return uuidLength, 16
	case timeToken:
		return timeLength, 4
	case microToken:
		return microLength, 7
	}
	return 2 * kind, kind
}

func putHex(dst, src []byte) {
	for i, c := range src {
		dst[2*i], dst[2*i+1] = digits[c>>4], digits[c&15]
	}
}

// uuidParts contains the range of each group of a UUID in its 16 bytes, and the
// offset of the group in its text.
var uuidParts = [...]struct{ from, to, at int }{{0, 4, 0}, {4, 6, 9}, {6, 8, 14}, {8, 10, 19}, {10, 16, 24}}

func putUUID(dst, src []byte) {
	for i, p := range uuidParts {
		putHex(dst[p.at:], src[p.from:p.to])
		if i > 0 {
			dst[p.at-1] = '-'
		}
	}
}

func seconds(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// putTime writes a time to dst, from the year to the seconds.
func putTime(dst []byte, seconds uint32) {
	year, month, day := date(seconds / 86400)
	second := seconds % 86400
	copy(dst, "0000-00-00T00:00:00")
	putNumber(dst[0:4], year)
	putNumber(dst[5:7], month)
	putNumber(dst[8:10], day)
	putNumber(dst[11:13], second/3600)
	putNumber(dst[14:16], second/60%60)
	putNumber(dst[17:19], second%60)
}

// putNumber fills dst with decimal digits.
func putNumber(dst []byte, n uint32) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = digits[n%10]
		n /= 10
	}
}

// date returns the date of a day, given as the number of days since 1970-01-01.
func date(day uint32) (year, month, dayOfMonth uint32) {
	for year = 1970; day >= yearDays(year); year++ {
		day -= yearDays(year)
	}
	for month = 1; day >= monthDays(year, month); month++ {
		day -= monthDays(year, month)
	}
	return year, month, day + 1
}

func isLeap(year uint32) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func yearDays(year uint32) uint32 {
	if isLeap(year) {
		return 366
	}
	return 365
}

func monthDays(year, month uint32) uint32 {
	switch {
	case month == 2 && isLeap(year):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}
