package query

import (
	"math/bits"
	"unsafe"
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	// loadAhead is the number of bytes that within reads at once: eight bytes from each
	// of two adjacent positions.
	loadAhead = 9
)

// littleEndian reports whether the lowest byte of a number comes first in memory.
var littleEndian = func() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}()

// lowerAll replaces each ASCII capital letter of a text with its lower case, eight bytes at once.
func lowerAll(text []byte) {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		at := (*uint64)(unsafe.Pointer(&text[i]))
		// No sum of two bytes carries into the next byte, because the top bits are clear.
		low := *at &^ highBits
		upper := (low + (0x80-'A')*lowBits) &^ (low + (0x7f-'Z')*lowBits) &^ *at & highBits
		*at |= upper >> 2 // the top bit of each capital letter becomes the bit 'a' - 'A'
	}
	for ; i < len(text); i++ {
		text[i] = lower(text[i])
	}
}

// within reports whether a text contains a word, which must not be empty. It compares the
// first two bytes of the word at eight positions at once, which takes an eighth of the
// time of separate comparisons.
func within(text []byte, word string) bool {
	last := len(text) - len(word)
	i := 0
	if littleEndian && len(word) > 1 {
		first, second := lowBits*uint64(word[0]), lowBits*uint64(word[1])
		at := unsafe.Pointer(unsafe.SliceData(text))
		for ; i <= last && i+loadAhead <= len(text); i += 8 {
			// A byte of "both" is zero where the text contains the first two bytes of the
			// word.
			both := *(*uint64)(unsafe.Add(at, i)) ^ first | *(*uint64)(unsafe.Add(at, i+1)) ^ second
			for found := (both - lowBits) &^ both & highBits; found != 0; found &= found - 1 {
				if p := i + bits.TrailingZeros64(found)/8; p <= last && borrow(text[p:p+len(word)]) == word {
					return true
				}
			}
		}
	}
	for ; i <= last; i++ {
		if text[i] == word[0] && borrow(text[i:i+len(word)]) == word {
			return true
		}
	}
	return false
}
