package wire

// inflater decompresses deflate streams (RFC 1951). The standard library's decoder
// imports package fmt and is several times as large.
type inflater struct {
	src  []byte
	s    int
	bits uint64 // bits read from src and not yet consumed, the next one lowest
	n    uint   // number of valid bits in the field bits
	dst  []byte
	d    int

	literals, distances huffman
}

// fastBits is the maximum length, in bits, of a code that one table lookup decodes.
const fastBits = 9

// huffman is a canonical Huffman code.
type huffman struct {
	fast    [1 << fastBits]uint16 // symbol<<4 | length, indexed by the next bits; zero for longer codes
	count   [16]uint16            // number of codes of each length
	symbols [288]uint16           // sorted by code
}

const (
	endOfBlock  = 256
	firstLength = 257
	mostLengths = 29
	mostDists   = 30
)

// The length and the distance of a copy are each a base, which depends on the symbol,
// plus the value of extra bits. codeLengthOrder is the order of the code lengths at the
// start of a dynamic block.
var (
	lengthBase = [mostLengths]uint16{
		3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
	}
	codeLengthOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
)

func lengthBits(i uint) uint {
	if i < 8 || i == mostLengths-1 {
		return 0
	}
	return i/4 - 1
}

func distance(i uint) (base int, bits uint) {
	if i < 4 {
		return int(i) + 1, 0
	}
	bits = i/2 - 1
	return int(2+i%2)<<bits + 1, bits
}

// inflate decompresses src until dst is full, and reports whether it succeeded. It fails
// if the stream is invalid or truncated. It ignores the bytes of src that are not needed
// to fill dst. The block that fills dst must not contain more output.
func (f *inflater) inflate(dst, src []byte) bool {
	f.src, f.s, f.bits, f.n, f.dst, f.d = src, 0, 0, 0, dst, 0
	for last := false; f.d < len(dst); {
		if last {
			return false
		}
		last = f.take(1) == 1
		ok := false
		switch f.take(2) {
		case 0:
			ok = f.stored()
		case 1:
			ok = f.fixed() && f.block()
		case 2:
			ok = f.dynamic() && f.block()
		}
		if !ok || f.overrun() {
			return false
		}
	}
	return true
}

// refill reads bytes until more than 56 bits are available. After the end of src it reads
// zeros.
func (f *inflater) refill() {
	for f.n <= 56 {
		if f.s < len(f.src) {
			f.bits |= uint64(f.src[f.s]) << f.n
		}
		f.s++
		f.n += 8
	}
}

// overrun reports whether bits after the end of src were consumed.
func (f *inflater) overrun() bool { return f.s-int(f.n/8) > len(f.src) }

// take reads n bits, at most 16. Inlining it at each use would make the module larger.
//
//go:noinline
func (f *inflater) take(n uint) uint {
	if f.n < n {
		f.refill()
	}
	v := uint(f.bits & (1<<n - 1))
	f.bits >>= n
	f.n -= n
	return v
}

// stored copies an uncompressed block. It reports whether the block is valid and fits
// dst.
func (f *inflater) stored() bool {
	f.take(f.n % 8)
	n := int(f.take(16))
	if n != int(f.take(16))^0xffff {
		return false
	}
	from := f.s - int(f.n/8)
	f.bits, f.n = 0, 0
	if from > len(f.src) || n > len(f.src)-from || n > len(f.dst)-f.d {
		return false
	}
	f.s = from + n
	f.d += copy(f.dst[f.d:], f.src[from:f.s])
	return true
}

func (f *inflater) fixed() bool {
	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144, i >= 280:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		default:
			lengths[i] = 7
		}
	}
	var distances [mostDists]uint8
	for i := range distances {
		distances[i] = 5
	}
	return f.literals.set(lengths[:]) && f.distances.set(distances[:])
}

// dynamic reads the two Huffman codes at the start of a dynamic block, and reports
// whether they are valid.
func (f *inflater) dynamic() bool {
	literals, distances, codes := int(f.take(5))+firstLength, int(f.take(5))+1, int(f.take(4))+4
	if literals > firstLength+mostLengths || distances > mostDists {
		return false
	}
	var lengths [firstLength + mostLengths + mostDists]uint8
	for i := range codes {
		lengths[codeLengthOrder[i]] = uint8(f.take(3))
	}
	if !f.literals.set(lengths[:len(codeLengthOrder)]) {
		return false
	}
	clear(lengths[:len(codeLengthOrder)])
	for i := 0; i < literals+distances; {
		symbol := f.symbol(&f.literals)
		value, times := uint8(0), 1
		switch {
		case symbol < 16:
			value = uint8(symbol)
		case symbol == 16:
			if i == 0 {
				return false
			}
			value, times = lengths[i-1], 3+int(f.take(2))
		case symbol == 17:
			times = 3 + int(f.take(3))
		case symbol == 18:
			times = 11 + int(f.take(7))
		default:
			return false
		}
		if times > literals+distances-i {
			return false
		}
		for ; times > 0; times-- {
			lengths[i] = value
			i++
		}
	}
	return lengths[endOfBlock] != 0 && f.literals.set(lengths[:literals]) && f.distances.set(lengths[literals:literals+distances])
}

// set builds the tables of a code from the code length of each symbol. It returns false
// if the lengths require more codes than exist. An incomplete code is valid; an unused
// code is an error only when it occurs in the stream.
func (h *huffman) set(lengths []uint8) bool {
	h.count = [16]uint16{}
	for _, n := range lengths {
		h.count[n]++
	}
	h.count[0] = 0
	var next, code [16]uint16 // index in symbols, and code, of the next symbol of each length
	left := 1
	for n := 1; n < 16; n++ {
		left = left<<1 - int(h.count[n])
		if left < 0 {
			return false
		}
		next[n] = next[n-1] + h.count[n-1]
		code[n] = (code[n-1] + h.count[n-1]) << 1
	}
	h.fast = [1 << fastBits]uint16{}
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		h.symbols[next[n]] = uint16(symbol)
		next[n]++
		if n <= fastBits {
			for i := reverse(code[n], n); i < 1<<fastBits; i += 1 << n {
				h.fast[i] = uint16(symbol)<<4 | uint16(n)
			}
		}
		code[n]++
	}
	return true
}

// reverse reverses the lowest n bits.
func reverse(code uint16, n uint8) (reversed uint16) {
	for ; n > 0; n-- {
		reversed = reversed<<1 | code&1
		code >>= 1
	}
	return reversed
}

// noSymbol represents bits that match no code. It is greater than every symbol.
const noSymbol = 1 << 15

// symbol reads one symbol of the code h. It returns noSymbol if the bits match no code.
//
//go:noinline
func (f *inflater) symbol(h *huffman) uint {
	if f.n < 15 {
		f.refill()
	}
	e := uint(h.fast[f.bits&(1<<fastBits-1)])
	if e == 0 {
		e = h.long(f.bits)
	}
	f.bits >>= e & 15
	f.n -= e & 15
	return e >> 4
}

// long decodes a code of more than fastBits bits, bit by bit, and returns symbol<<4 |
// length.
//
//go:noinline
func (h *huffman) long(bits uint64) uint {
	code, first, index := 0, 0, 0
	for n := 1; n < 16; n++ {
		code |= int(bits & 1)
		bits >>= 1
		count := int(h.count[n])
		if code-first < count {
			return uint(h.symbols[index+code-first])<<4 | uint(n)
		}
		index += count
		first = (first + count) << 1
		code <<= 1
	}
	return noSymbol << 4
}

// block decodes the literals and copies of a block, and reports whether they are valid.
// Decoding an initial snapshot spends most of its time in this loop. The loop therefore
// keeps its state in local variables and looks up a short code without a function call.
func (f *inflater) block() bool {
	src, dst := f.src, f.dst
	bits, n, s, d := f.bits, f.n, f.s, f.d
	ok := false
	for s <= len(src)+16 { // zeros follow the end of src
		if n < 48 {
			if s+8 <= len(src) {
				bits |= word(src[s:]) << n
				s += int(63-n) >> 3
				n |= 56
			} else {
				for ; n <= 56; n += 8 {
					if s < len(src) {
						bits |= uint64(src[s]) << n
					}
					s++
				}
			}
		}
		// The codes and extra bits of a length and a distance take at most 48 bits.
		e := uint(f.literals.fast[bits&(1<<fastBits-1)])
		if e == 0 {
			e = f.literals.long(bits)
		}
		bits, n = bits>>(e&15), n-(e&15)
		symbol := e >> 4
		if symbol < endOfBlock {
			if d == len(dst) {
				break
			}
			dst[d] = byte(symbol)
			d++
			continue
		}
		if ok = symbol == endOfBlock; ok || symbol >= firstLength+mostLengths {
			break
		}
		symbol -= firstLength
		extra := lengthBits(symbol)
		length := int(lengthBase[symbol]) + int(bits&(1<<extra-1))
		bits, n = bits>>extra, n-extra
		if e = uint(f.distances.fast[bits&(1<<fastBits-1)]); e == 0 {
			e = f.distances.long(bits)
		}
		bits, n = bits>>(e&15), n-(e&15)
		if e>>4 >= mostDists {
			break
		}
		back, extra := distance(e >> 4)
		back += int(bits & (1<<extra - 1))
		bits, n = bits>>extra, n-extra
		if back > d || length > len(dst)-d {
			break
		}
		end := d + length
		for d < end { // an overlapping copy repeats its own output
			d += copy(dst[d:end], dst[d-back:d])
		}
	}
	f.bits, f.n, f.s, f.d = bits, n, s, d
	return ok
}

// word returns the first eight bytes of b.
func word(b []byte) uint64 {
	_ = b[7] // one check of the bounds
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
