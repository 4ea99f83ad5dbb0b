package query_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/naive"
	"github.com/watchglass/watchglass/core/query"
)

func text(s string) api.Value { return api.Value{Kind: api.String, Text: s} }

// pieces are the parts of random texts.
var pieces = []string{
	"", "0", "00", "1", "2", "9", "10", "010", "99", "100", "123456789", "1234567890", "99999999999999999999", ".", "-", "+", ":", "::",
	"a", "b", "f", "Ki", "Mi", "m", "k", "E", "e", "node", "node-", " ", "é", "v",
}

func randomText(r *rand.Rand) string {
	s := ""
	for range r.IntN(5) {
		s += pieces[r.IntN(len(pieces))]
	}
	return s
}

func natural(v api.Value) api.Value {
	n, _ := query.Natural(v, nil)
	return n
}

// Natural values compare as in the model, for random texts and for texts of every kind.
func TestNaturalOrderAgreesWithTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	texts := []string{
		"", "node-2", "node-10", "node-010", "v1.9.0", "v1.10.0", "10.0.0.9", "10.0.0.10", "10.0.0.9/24", "192.168.1.1",
		"1", "1Ki", "1k", "500m", "0.5", "1e3", "1E", "-1", "+1", "5.", ".5", "1.5Gi", "1000Mi", "1e-3", "1e+3", "1e9999", "1x", "--1",
		"fd00::1", "fd00::a", "fd00::10", "::", "::1", "1::", "2001:db8::ff00:42:8329", "1:2:3:4:5:6:7:8",
	}
	for range 3000 {
		texts = append(texts, randomText(r))
	}
	for range 30_000 {
		a, b := texts[r.IntN(len(texts))], texts[r.IntN(len(texts))]
		if isAddress(a) != isAddress(b) {
			continue // the order of an address and another text is unspecified
		}
		want, got := naive.Compare(text(a), text(b)), natural(text(a)).Compare(natural(text(b)))
		require.Equal(t, want, got, "%q %q", a, b)
	}
}

func isAddress(s string) bool {
	v := natural(text(s))
	return v.Kind == api.String && len(v.Text) == 17 && v.Text[0] == ':'
}

func TestIPv6AddressesAreRecognized(t *testing.T) {
	for _, s := range []string{"::", "::1", "1::", "fd00::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "FD00::ABCD"} {
		require.True(t, isAddress(s), s)
	}
	for _, s := range []string{"", ":", "1", "1:2", ":::", "1:::2", "1::2::3", "1:2:3:4:5:6:7:8:9", "12345::", "g::", "1:2:3:4:5:6:7:", ":1:2:3:4:5:6:7", "::1.2.3.4", "1:2:3:4:5:6:7:8::"} {
		require.False(t, isAddress(s), s)
	}
}

func TestQuantitiesAgreeWithTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	suffixes := []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e+10", "K", "i", "ki", "mm", "e", "e1.5", " "}
	for range 20_000 {
		s := []string{"", "-", "+"}[r.IntN(3)]
		for range r.IntN(22) {
			s += string("0123456789."[r.IntN(11)])
		}
		s += suffixes[r.IntN(len(suffixes))]
		want, ok := naive.Quantity(s)
		got, gotOK := query.ParseQuantity(s)
		require.Equal(t, ok, gotOK, s)
		if ok {
			require.InDelta(t, 0, relative(want, got), 1e-15, "%s: %v, expected %v", s, got, want)
		}
	}
	for s, want := range map[string]float64{"0.1": 0.1, "100m": 0.1, "1.5Gi": 1610612736, "9007199254740992": 1 << 53, "-0.25": -0.25, "1e22": 1e22} {
		got, ok := query.ParseQuantity(s)
		require.True(t, ok, s)
		require.Equal(t, want, got, s)
	}
}

func relative(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / math.Max(math.Abs(a), math.Abs(b))
}

func FuzzNaturalOrder(f *testing.F) {
	for _, s := range pieces {
		f.Add(s, "node-10", "1Gi")
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		x, y, z := natural(text(a)), natural(text(b)), natural(text(c))
		if got, want := y.Compare(x), -x.Compare(y); got != want {
			t.Fatalf("%q %q: %d, expected %d", a, b, got, want)
		}
		if x.Compare(y) <= 0 && y.Compare(z) <= 0 && x.Compare(z) > 0 {
			t.Fatalf("the order of %q, %q, %q is not transitive", a, b, c)
		}
		if x.Kind == api.Number && y.Kind == api.Number && cmp.Compare(x.Float, y.Float) != x.Compare(y) {
			t.Fatalf("%q %q do not compare as numbers", a, b)
		}
	})
}
