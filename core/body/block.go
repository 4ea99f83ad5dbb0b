package body

// maxDictionary limits the size of a dictionary, so that two bytes can address
// all of it.
const maxDictionary = 64 << 10

// A block is the length of the text as a varint, followed by operations. The lowest two
// bits of an operation's first byte are its type; n is the number in the other six bits.
//
//	0  literal of n+1 bytes, which follow. If n is 60, 61 or 62, the length minus one
//	   follows first, in n-59 bytes. If n is 63, a [token] follows.
//	1  near copy of 4 + n%8 bytes. The distance has 11 bits: n/8 contains the three
//	   highest bits, and the next byte contains the others. Distance 0 means the
//	   distance of the last copy. If n%8 is then 5, 6 or 7, the length follows in
//	   1, 2 or 3 bytes; see [repeats].
//	2  copy of n+1 bytes; the distance follows in two bytes.
//	3  copy of n+2 bytes that continues in the guide. If n is 60, 61 or 62, the
//	   length minus 62 follows in n-59 bytes. n = 63 is a far copy: one byte with the
//	   length minus one follows, and three bytes with the distance.
//
// Numbers are little-endian. Distances count back from the end of the output. The
// guide precedes the output, and the dictionary precedes the guide. A copy that
// starts in the guide or in the dictionary also ends in that text.
const (
	opLiteral = iota
	opNear
	opCopy
	opGoOn

	longLiteral  = 60
	tokenTag     = 63
	leastNear    = 4
	mostNear     = 11
	nearDistance = 1 << 11
	leastRepeat  = 4
	leastGoOn    = 2
	longGoOn     = 60
	farCopy      = 63
)

// repeats are the minimum lengths of repetitions whose length follows in 1, 2 and 3
// bytes. The bytes contain the difference from the minimum.
var repeats = [...]int{8, 260, 65540}

// block is the state of the decoder of one block.
type block struct {
	src        []byte
	s          int // the input before s has been read
	dst        []byte
	d          int // the output before d has been written
	dictionary []byte
	guide
	distance int // of the last copy
}

// guide is the text that the output resembles most: the base of a delta, or the
// dictionary if there is no base.
//
// An operation of type 3 continues the last copy from the guide. If the guide is a base,
// a literal replaces the same number of bytes of the base. The continuation therefore has
// the same distance as the last copy from the base. If the guide is a dictionary,
// literals are insertions, because the values of a skeleton are empty. The continuation
// therefore starts where the last copy from the dictionary ended.
type guide struct {
	text     []byte
	inserts  bool
	distance int // of the last copy from the guide
	end      int // the end of the last copy, as an offset in text
}

func guided(text []byte, inserts bool) guide {
	return guide{text: text, inserts: inserts, distance: len(text)}
}

// continuation returns the distance of a continuing copy, given the length of the output.
func (g *guide) continuation(output int) int {
	if g.inserts {
		return len(g.text) + output - g.end
	}
	return g.distance
}

// copied records a copy of n bytes from the guide.
func (g *guide) copied(distance, from, n int) { g.distance, g.end = distance, from+n }

// decode decodes the block into dst, and reports whether the block is valid and fills dst
// completely. Otherwise, s is near the error and the contents of dst are undefined.
func (b *block) decode() bool {
	for b.s < len(b.src) {
		tag := b.src[b.s]
		b.s++
		var n int
		var ok bool
		switch n = int(tag >> 2); tag & 3 {
		case opLiteral:
			if ok = b.literal(n); !ok {
				return false
			}
			continue
		case opNear:
			n, ok = b.near(n)
		case opCopy:
			n++
			b.distance, ok = b.number(2)
		case opGoOn:
			n, ok = b.continues(n)
		}
		if !ok || !b.copy(n) {
			return false
		}
	}
	return b.d == len(b.dst)
}

// number reads a number of 1 to 3 bytes. It returns false if the input is too short.
func (b *block) number(bytes int) (v int, ok bool) {
	if len(b.src)-b.s < bytes {
		return 0, false
	}
	for i := range bytes {
		v |= int(b.src[b.s+i]) << (8 * i)
	}
	b.s += bytes
	return v, true
}

func (b *block) literal(n int) (ok bool) {
	switch {
	case n == tokenTag:
		return b.token()
	case n >= longLiteral:
		if n, ok = b.number(n - longLiteral + 1); !ok {
			return false
		}
	}
	if n++; n > len(b.src)-b.s || n > len(b.dst)-b.d {
		return false
	}
	copy(b.dst[b.d:], b.src[b.s:b.s+n])
	b.s += n
	b.d += n
	return true
}

func (b *block) near(n int) (length int, ok bool) {
	low, ok := b.number(1)
	length = n & 7
	if distance := n>>3<<8 | low; distance != 0 {
		b.distance = distance
		return length + leastNear, ok
	}
	if length < 5 || !ok {
		return length + leastRepeat, ok
	}
	least := repeats[length-5]
	length, ok = b.number(length - 4)
	return least + length, ok
}

func (b *block) continues(n int) (length int, ok bool) {
	if n < farCopy {
		b.distance = b.guide.continuation(b.d)
	}
	switch {
	case n < longGoOn:
		return n + leastGoOn, true
	case n < farCopy:
		n, ok = b.number(n - longGoOn + 1)
		return n + longGoOn + leastGoOn, ok
	}
	if n, ok = b.number(1); !ok {
		return 0, false
	}
	b.distance, ok = b.number(3)
	return n + 1, ok
}

// copy appends n bytes that start at the current distance before the end of the output.
// It returns false if the copy is invalid.
func (b *block) copy(n int) bool {
	if b.distance <= 0 || n > len(b.dst)-b.d {
		return false
	}
	guide := b.guide.text
	switch behind := b.distance - b.d; {
	case behind > len(guide):
		return b.copyFrom(b.dictionary, len(b.dictionary)+len(guide)-behind, n)
	case behind > 0:
		from := len(guide) - behind
		b.guide.copied(b.distance, from, n)
		return b.copyFrom(guide, from, n)
	}
	for n > 0 { // an overlapping copy repeats its own output
		k := copy(b.dst[b.d:b.d+n], b.dst[b.d-b.distance:b.d])
		b.d += k
		n -= k
	}
	return true
}

func (b *block) copyFrom(text []byte, from, n int) bool {
	if from < 0 || n > len(text)-from {
		return false
	}
	copy(b.dst[b.d:], text[from:from+n])
	b.d += n
	return true
}
