package view

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func text(s string) api.Value { return api.Value{Kind: api.String, Text: s} }

func cells() []api.Value {
	values := []api.Value{{}, {Kind: api.Bool}, {Kind: api.Bool, Int: 1}}
	for _, n := range []int64{
		math.MinInt64, math.MinInt64 + 1, -middle - 1, -middle, -middle + 1, -7, -1, 0, 1, 2, 1 << 40,
		middle - 2, middle - 1, middle, middle + 1, math.MaxInt64,
	} {
		values = append(values, api.Value{Kind: api.Integer, Int: n}, api.Value{Kind: api.Date, Int: n})
	}
	tiny := math.SmallestNonzeroFloat64
	for _, f := range []float64{
		math.NaN(), math.Float64frombits(0xfff8_0000_0000_0001), math.Inf(-1), -math.MaxFloat64, -2, -1.5, -1,
		math.Nextafter(-1, 0), -tiny, math.Copysign(0, -1), 0, tiny, 1, math.Nextafter(1, 2), 1.5, math.MaxFloat64, math.Inf(1),
	} {
		values = append(values, api.Value{Kind: api.Number, Float: f})
	}
	for _, s := range []string{
		"", "\x00", "a", "a\x00", "a\x00\x00\x00\x00\x00\x00", "a\x00\x00\x00\x00\x00\x00\x00", "ab", "abcdefg",
		"abcdefg\x00", "abcdefgh", "abcdefgi", "abcdeg", "b", "Running", "Pending", "Succeeded", "\xff\xff\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff", "é",
	} {
		values = append(values, text(s))
	}
	return values
}

// Sort keys never contradict the order of values. If equal keys do not imply equal values,
// exact returns false.
func TestSortKey_agrees_with_compare(t *testing.T) {
	for _, a := range cells() {
		for _, b := range cells() {
			ka, kb := sortKeyOf(a), sortKeyOf(b)
			switch c := a.Compare(b); {
			case c < 0:
				require.LessOrEqual(t, ka, kb, "%v %v", a, b)
			case c > 0:
				require.GreaterOrEqual(t, ka, kb, "%v %v", a, b)
			default:
				require.Equal(t, ka, kb, "%v %v", a, b)
			}
			if ka == kb && ka.exact() {
				require.Zero(t, a.Compare(b), "%v %v", a, b)
			}
		}
	}
}

// The keys alone decide the order of common sort values.
func TestSortKey_is_exact_for_common_cells(t *testing.T) {
	for _, v := range []api.Value{
		{}, {Kind: api.Bool, Int: 1}, {Kind: api.Integer, Int: -3}, {Kind: api.Integer, Int: 1 << 40},
		{Kind: api.Date, Int: 1_800_000_000_000}, text(""), text("Running"), text("Failed"),
	} {
		require.True(t, sortKeyOf(v).exact(), "%v", v)
	}
}

func FuzzSortKeyOfText(f *testing.F) {
	f.Add("", "a")
	f.Add("abcdefg", "abcdefgh")
	f.Fuzz(func(t *testing.T, a, b string) {
		va, vb := text(a), text(b)
		ka, kb := sortKeyOf(va), sortKeyOf(vb)
		if c := va.Compare(vb); c < 0 && ka > kb || c > 0 && ka < kb || c == 0 && ka != kb || c != 0 && ka == kb && ka.exact() {
			t.Fatalf("%q %q: %x %x", a, b, ka, kb)
		}
	})
}
