package bodies

const (
	minDictionary = 16
	maxDictionary = 64 << 10
)

// splitDictionary takes apart what an S2 dictionary is: where in its content
// the first repeat points, and the content.
func splitDictionary(dictionary []byte) (content []byte, repeat int, ok bool) {
	r, n := uvarint(dictionary)
	content = dictionary[n:]
	ok = n > 0 && len(content) >= minDictionary && len(content) <= maxDictionary && r <= uint64(len(content))
	return content, int(r), ok
}

// s2Block decodes one S2 block: Snappy's block format with repeated offsets and
// dictionaries that stand in front of the output: shared, then dict. A difference
// has [s2Block.goOn] in the place of copies with offsets of four bytes.
type s2Block struct {
	src    []byte
	s      int // read up to here
	dst    []byte
	d      int // written up to here
	shared []byte
	dict   []byte
	offset int // of the last copy
	reach  int // bytes of output after which the dictionaries are out of reach
	delta  bool
	shift  int // of a difference: the offset of the last copy that began in dict
}

// decode fills dst exactly. It reports false for anything else than a valid
// block, leaves s near the fault, and then the content of dst means nothing.
func (b *s2Block) decode() bool {
	for b.s < len(b.src) {
		tag := b.src[b.s]
		b.s++
		var n int
		var ok bool
		switch tag & 3 {
		case 0:
			if n, ok = b.literalLength(tag); !ok || !b.literal(n) {
				return false
			}
			continue
		case 1:
			n, ok = b.shortCopy(tag)
		case 2:
			n = 1 + int(tag>>2)
			b.offset, ok = b.number(2)
		case 3:
			if b.delta {
				n, ok = b.goOn(tag)
			} else {
				n = 1 + int(tag>>2)
				b.offset, ok = b.number(4)
			}
		}
		if !ok || !b.copy(n) {
			return false
		}
	}
	return b.d == len(b.dst)
}

// number reads a little-endian number of 1 to 4 bytes. One that does not fit
// an int of 31 bits fails: no offset or length is that large.
func (b *s2Block) number(bytes int) (v int, ok bool) {
	if len(b.src)-b.s < bytes {
		return 0, false
	}
	var u uint32
	for i := range bytes {
		u |= uint32(b.src[b.s+i]) << (8 * i)
	}
	b.s += bytes
	return int(u), u < 1<<31
}

func (b *s2Block) literalLength(tag byte) (n int, ok bool) {
	n = int(tag >> 2)
	if n < 60 {
		return n + 1, true
	}
	n, ok = b.number(n - 59)
	return n + 1, ok
}

func (b *s2Block) literal(n int) bool {
	if n <= 0 || n > len(b.src)-b.s || n > len(b.dst)-b.d {
		return false
	}
	copy(b.dst[b.d:], b.src[b.s:b.s+n])
	b.s += n
	b.d += n
	return true
}

// shortCopy reads the copy with an offset of 11 bits. Offset zero means the
// last one again, with a length of up to 24 bits.
func (b *s2Block) shortCopy(tag byte) (n int, ok bool) {
	low, ok := b.number(1)
	n = int(tag>>2) & 7
	if offset := int(tag>>5)<<8 | low; offset != 0 {
		b.offset = offset
		return n + 4, ok
	}
	if n < 5 || !ok {
		return n + 4, ok
	}
	base := [...]int{8, 260, 65540}[n-5]
	n, ok = b.number(n - 4)
	return base + n, ok
}

// What the tag of goOn says beyond a short length: that the length follows, in 1
// to 3 bytes, or that a far copy does.
const (
	goOnShort = 60 // lengths of goOnLeast on
	goOnLeast = 2
	farCopy   = 63 // a byte of length and three of offset
)

// goOn reads the copy that a difference is mostly made of: from where the base
// goes on behind the last copy out of it, and behind what was put in the place of
// some of it. The largest tag is for offsets that are too large for two bytes.
func (b *s2Block) goOn(tag byte) (n int, ok bool) {
	n, b.offset = int(tag>>2), b.shift
	switch {
	case n < goOnShort:
		return n + goOnLeast, true
	case n < farCopy:
		n, ok = b.number(n - goOnShort + 1)
		return n + goOnShort + goOnLeast, ok
	}
	if n, ok = b.number(1); !ok {
		return 0, false
	}
	b.offset, ok = b.number(3)
	return n + 1, ok
}

// copy repeats n bytes from offset bytes back. The dictionaries stand before
// the output; a copy that starts in one ends in it.
func (b *s2Block) copy(n int) bool {
	if b.offset <= 0 || n > len(b.dst)-b.d {
		return false
	}
	if back := b.offset - b.d; back > len(b.dict) {
		return b.copyFrom(b.shared, back-len(b.dict), n)
	} else if back > 0 {
		b.shift = b.offset
		return b.copyFrom(b.dict, back, n)
	}
	for n > 0 { // an overlapping copy repeats what it has written
		k := copy(b.dst[b.d:b.d+n], b.dst[b.d-b.offset:b.d])
		b.d += k
		n -= k
	}
	return true
}

// copyFrom copies out of a dictionary, from as many bytes before its end.
func (b *s2Block) copyFrom(dict []byte, back, n int) bool {
	at := len(dict) - back
	if b.d >= b.reach || at < 0 || n > len(dict)-at {
		return false
	}
	copy(b.dst[b.d:], dict[at:at+n])
	b.d += n
	return true
}
