package lite

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var numbers = []string{
	"0", "-0", "0.0", "-0e5", "0e99999", "1", "-1", "12.5", "0.1", "1e22", "1e23", "9007199254740993", "9007199254740992.5",
	"123456789012345678901234567890", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e308",
	"1e309", "1e400", "1e401", "-1e99999", "1e-99999", "1e99999999999999999999", "1e-99999999999999999999",
	"5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072014e-308",
	"1e-400", "1E+2", "1E-2", "100000000000000016777215", "100000000000000016777216", "100000000000000016777217",
	"1." + strings.Repeat("0", 1000) + "1", "9007199254740993." + strings.Repeat("0", 900) + "1", "9007199254740993." + strings.Repeat("0", 900),
	strings.Repeat("9", 2000), strings.Repeat("9", 308), "0." + strings.Repeat("0", 2000) + "1e2000", strings.Repeat("1", 1500) + "e-1500",
	"", "-", "+1", "1e", "1e+", "e5", "1.2.3", "1x", "0x10", "nan", "inf", "1_0", "--1", ".", "-.",
}

func TestParseFloatAgreesWithPackageStrconv(t *testing.T) {
	for _, text := range numbers {
		checkFloat(t, text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		checkFloat(t, strconv.FormatFloat(f, 'e', -1, 64))
		checkFloat(t, strconv.FormatFloat(f, 'e', r.IntN(30), 64))
		checkFloat(t, strconv.FormatInt(r.Int64(), 10)+"."+strconv.Itoa(r.IntN(1000))+"e"+strconv.Itoa(r.IntN(60)-30))
		checkFloat(t, midpoint(f))
	}
}

// midpoint returns the exact midpoint of f and the next float, or "1" unless 1e-20 <= |f| <= 1e20.
func midpoint(f float64) string {
	next := math.Nextafter(f, math.Inf(1))
	if math.Abs(f) < 1e-20 || math.Abs(f) > 1e20 {
		return "1"
	}
	return strconv.FormatFloat(f/2+next/2, 'f', 120, 64)
}

func FuzzParseFloat(f *testing.F) {
	for _, text := range numbers {
		f.Add(text)
	}
	f.Fuzz(checkFloat)
}

// checkFloat compares ParseFloat with the standard library, which accepts more than
// JSON.
func checkFloat(t *testing.T, text string) {
	got, ok := ParseFloat(text)
	if strings.Trim(text, "0123456789.eE+-") != "" || strings.HasPrefix(text, "+") {
		require.False(t, ok, text)
		return
	}
	if len(text) > 20_000 {
		return // strconv limits exponents to 5 digits
	}
	want, err := strconv.ParseFloat(text, 64)
	if len(text) > maxDigits && !errors.Is(err, strconv.ErrSyntax) {
		var known bool
		if want, err, known = exactFloat(text); !known {
			return
		}
	}
	require.Equal(t, err == nil, ok, text)
	if ok {
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), text)
	}
}

// exactFloat parses a valid number as a fraction, unless its exponent has more than 5
// characters. In Go 1.26, strconv ignores the digits of an integer beyond 800: it parses
// a 1 followed by 2,000 zeros and e-1500 as 0.
func exactFloat(text string) (f float64, err error, known bool) {
	if at := strings.IndexAny(text, "eE"); at >= 0 && len(text)-at > len("e-9999") {
		return 0, nil, false
	}
	r, valid := new(big.Rat).SetString(text)
	if !valid {
		return 0, strconv.ErrSyntax, true
	}
	f, _ = r.Float64()
	if math.IsInf(f, 0) {
		return 0, strconv.ErrRange, true
	}
	if text[0] == '-' {
		f = math.Copysign(f, -1)
	}
	return f, nil, true
}

func BenchmarkParseFloat(b *testing.B) {
	for b.Loop() {
		ParseFloat("0.85")
		ParseFloat("12345.678901")
	}
}
