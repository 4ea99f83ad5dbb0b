package objectjson

import "math/bits"

// Most bytes are processed eight at a time, in a little-endian word. To mark a byte, a
// function sets the byte's highest bit in the result.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// word returns the first eight bytes as a little-endian number.
func word(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// equal marks each byte that equals c.
func equal(x uint64, c byte) uint64 {
	x ^= ones * uint64(c)
	return ^((x&^highs + ^uint64(highs)) | x) & highs
}

// firstMark returns the index of the lowest marked byte.
func firstMark(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }
