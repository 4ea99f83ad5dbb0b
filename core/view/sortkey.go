package view

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
)

// sortKey is the beginning of a value as one number, which compares as values
// do and far cheaper: a view sorts by these and looks into versions only where
// two are equal. From the top: three bits for the kind, 61 for the value. Of a
// number those are its size about the middle, as long as it fits; of a string
// the first seven bytes and then its length up to eight.
type sortKey uint64

const (
	valueBits = 61
	middle    = 1 << (valueBits - 1)
	textShift = valueBits - 56
	textBytes = 7 // of a text that a key has
	longText  = 8 // stands for every length beyond those
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

// exact reports that only equal values have this key.
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

// floatKey is the top of the bits of a float, arranged so that they order as
// the floats do: negative ones have all bits turned, the others the sign. Both
// zeros are one value, and NaN, whatever its bits, comes before all others.
func floatKey(f float64) sortKey {
	if f != f {
		return 0
	}
	if f == 0 {
		f = 0 // the sign goes
	}
	bits := math.Float64bits(f)
	if bits>>63 != 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return sortKey(bits >> (64 - valueBits))
}
