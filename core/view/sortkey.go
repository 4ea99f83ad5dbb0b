package view

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
)

// sortKey is a number that compares like the value it is computed from, but faster. A
// view reads versions only where two sort keys are equal. The top three bits are the
// kind, and the other 61 bits represent the value. For an integer or a time, they are its
// value, clamped and offset. For a float, see floatKey. For a string, they are the first
// seven bytes and the length, which is capped at eight.
type sortKey uint64

const (
	valueBits = 61
	middle    = 1 << (valueBits - 1)
	textShift = valueBits - 56
	textBytes = 7 // bytes of a text in the key
	longText  = 8 // represents this length and all greater ones
)

func sortKeyOf(v api.Value) sortKey {
	key := sortKey(v.Kind) << valueBits
	switch v.Kind {
	case api.Null:
		return key
	case api.Number:
		return key | floatKey(v.Float)
	case api.String:
		return key | textKey(v.Text)
	}
	return key | sortKey(min(max(v.Int, -middle), middle-1)+middle)
}

// exact reports whether all values with this sort key are equal.
func (k sortKey) exact() bool {
	value := k & (1<<valueBits - 1)
	switch api.ValueKind(k >> valueBits) {
	case api.Null:
		return true
	case api.Number:
		return false
	case api.String:
		return value&(1<<textShift-1) < longText
	}
	return value != 0 && value != 1<<valueBits-1
}

func textKey(s string) sortKey {
	var key sortKey
	for i := range min(len(s), textBytes) {
		key |= sortKey(s[i]) << (valueBits - 8 - 8*i)
	}
	return key | sortKey(min(len(s), longText))
}

// floatKey returns the top bits of a float, transformed so that they sort like floats. It
// inverts all bits of negative numbers, and the sign bit of other numbers. Both zeros are
// equal, and every NaN sorts first.
func floatKey(f float64) sortKey {
	if f != f {
		return 0
	}
	if f == 0 {
		f = 0 // clears the sign
	}
	bits := math.Float64bits(f)
	if bits>>63 != 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return sortKey(bits >> (64 - valueBits))
}
