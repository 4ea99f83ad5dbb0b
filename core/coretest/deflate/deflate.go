// Package deflate compresses the blocks of snapshots in tests.
//
// Scenarios print sizes, and the output of compress/flate differs between Go releases.
// This package therefore has its own small encoder (RFC 1951), which finds repetitions of
// four or more bytes and uses the fixed codes.
package deflate

import (
	"encoding/binary"
	"math/bits"
)

// Sections compresses both parts of a block and appends them to dst. It also returns the
// size of the compressed envelopes. Its signature is that of session.Config.Deflate.
func Sections(dst, envelopes, bodies []byte) (data []byte, envelopesEnd int) {
	e := encoder{out: dst, input: append(append([]byte(nil), envelopes...), bodies...), last: map[uint32]int{}}
	e.section(len(envelopes))
	envelopesEnd = len(e.out) - len(dst)
	e.section(len(e.input))
	return append(e.out, 0x03, 0x00), envelopesEnd // a final block without data
}

const (
	minMatch, maxMatch = 4, 258
	window             = 32 << 10
	endOfBlock         = 256
)

type encoder struct {
	out   []byte
	bits  uint64 // bits that are not in out yet, starting at the lowest
	n     int    // number of valid bits in "bits"
	input []byte
	at    int            // position in input
	last  map[uint32]int // last position of each sequence of four bytes
}

// section compresses the input up to the offset "end", and pads the output to a whole
// byte.
func (e *encoder) section(end int) {
	e.write(0b010, 3) // not final, fixed codes
	for e.at < end {
		if length, distance := e.match(end); length > 0 {
			e.copyOf(length, distance)
			e.advance(length)
		} else {
			e.symbol(int(e.input[e.at]))
			e.advance(1)
		}
	}
	e.symbol(endOfBlock)
	e.write(0, 3) // a stored block without data
	e.write(0, (8-e.n%8)%8)
	e.out = append(e.out, 0x00, 0x00, 0xff, 0xff)
}

// match returns the length and the distance of the repetition at the current position, or
// zeros if there is none.
func (e *encoder) match(end int) (length, distance int) {
	if e.at+minMatch > end {
		return 0, 0
	}
	from, ok := e.last[binary.LittleEndian.Uint32(e.input[e.at:])]
	if !ok || e.at-from > window {
		return 0, 0
	}
	for length < min(maxMatch, end-e.at) && e.input[from+length] == e.input[e.at+length] {
		length++
	}
	return length, e.at - from
}

func (e *encoder) advance(n int) {
	for range n {
		if e.at+minMatch <= len(e.input) {
			e.last[binary.LittleEndian.Uint32(e.input[e.at:])] = e.at
		}
		e.at++
	}
}

func (e *encoder) copyOf(length, distance int) {
	if length == maxMatch {
		e.symbol(285)
	} else {
		code, extra, count := bucket(length-3, 4)
		e.symbol(257 + code)
		e.write(extra, count)
	}
	code, extra, count := bucket(distance-1, 2)
	e.write(reverse(uint64(code), 5), 5)
	e.write(extra, count)
}

// bucket returns the code of a value, the extra bits, and their number. Each range from
// one power of two to the next is divided into the given number of codes.
func bucket(value, codes int) (code int, extra uint64, count int) {
	count = max(0, bits.Len(uint(value))-bits.Len(uint(codes)))
	return count*codes + value>>count, uint64(value & (1<<count - 1)), count
}

// symbol writes the fixed code of a literal, a length or the end of a block.
func (e *encoder) symbol(s int) {
	switch {
	case s < 144:
		e.write(reverse(uint64(0x30+s), 8), 8)
	case s < 256:
		e.write(reverse(uint64(0x190+s-144), 9), 9)
	case s < 280:
		e.write(reverse(uint64(s-256), 7), 7)
	default:
		e.write(reverse(uint64(0xc0+s-280), 8), 8)
	}
}

func reverse(code uint64, n int) uint64 { return bits.Reverse64(code) >> (64 - n) }

func (e *encoder) write(v uint64, n int) {
	e.bits |= v << e.n
	for e.n += n; e.n >= 8; e.n -= 8 {
		e.out = append(e.out, byte(e.bits))
		e.bits >>= 8
	}
}
