package query

import (
	"bytes"
	"unsafe"
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

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

// within reports whether a text contains a word, which must not be empty.
func within(text []byte, word string) bool {
	switch {
	case len(word) > len(text):
		return false
	case len(word) == 1:
		return bytes.IndexByte(text, word[0]) >= 0
	}
	for from := 0; ; from++ {
		if from = pairAt(text, from, word[0], word[1]); from < 0 || from+len(word) > len(text) {
			return false
		}
		if len(word) == 2 || borrow(text[from+2:from+len(word)]) == word[2:] {
			return true
		}
	}
}

// pairAt returns the first index, from the given one on, at which a text contains two adjacent
// bytes. It returns -1 if there is none. The text must have at least two bytes, and the index
// must not exceed its length.
//
// In the shipped module, vector instructions replace this function (see package strip). The
// replacement depends on this signature. Tests run both versions of this function.
//
//go:noinline
func pairAt(text []byte, from int, first, second byte) int {
	for i := from; i+1 < len(text); i++ {
		n := bytes.IndexByte(text[i:len(text)-1], first)
		if n < 0 {
			return -1
		}
		if i += n; text[i+1] == second {
			return i
		}
	}
	return -1
}
