package catalog

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSum(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{`"1234567n"`, "1234567n"},
		{`"1500m","500m"`, "2"},
		{`"1","1n"`, "1000000001n"},
		{`"14256Ki","80Ki"`, "14Mi"},
		{`"1024Ki","1Mi"`, "2Mi"},
		{`"512","512"`, "1024"},
		{`"1Ki","1000"`, "2024"},
		{`"1000","1Ki"`, "2024"},
		{`"1Ki","500m"`, "1024500m"},
		{`"0","0"`, "0"},
		{`"-1","1"`, "0"},
		{`"2","-3"`, "-1"},
		{`"9E"`, "9E"},
		{`"9E","1E"`, "10E"},
		{`"9223372036854775807","1"`, "-"},
		{`"8E","1n"`, "-"},
		{`"16Ei"`, "-"},
		{`"1.5"`, "-"},
		{`"1","x"`, "-"},
		{`""`, "-"},
		{`"i"`, "-"},
		{`"1 "`, "-"},
		{`"1 i"`, "-"},
		{`null,"1"`, "-"},
		{``, "-"},
	} {
		assert.Equal(t, c.want, one(t, "sum", ".v.a[*]", `"a":[`+c.values+`]`), c.values)
	}
}

// Sums of quantities in any mix of units are exact.
func TestSumsOfRandomQuantities(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	suffixes := []string{"n", "u", "m", "", "k", "M", "Ki", "Mi"}
	units := map[string]*big.Int{}
	for i, suffix := range []string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"} {
		units[suffix] = new(big.Int).Exp(big.NewInt(1000), big.NewInt(int64(i)), nil)
	}
	for i, suffix := range []string{"Ki", "Mi", "Gi", "Ti"} {
		units[suffix] = new(big.Int).Mul(big.NewInt(1e9), big.NewInt(1<<(10*(i+1))))
	}
	value := func(q string) *big.Int {
		number := strings.TrimRight(q, "numkKMGTPEi")
		product, ok := new(big.Int).SetString(number, 10)
		unit, known := units[q[len(number):]]
		require.True(t, ok && known, q)
		return product.Mul(product, unit)
	}
	for range 2000 {
		var values []string
		want := new(big.Int)
		for range 1 + r.IntN(4) {
			q := strconv.Itoa(r.IntN(2000)) + suffixes[r.IntN(len(suffixes))]
			values = append(values, `"`+q+`"`)
			want.Add(want, value(q))
		}
		list := strings.Join(values, ",")
		got := one(t, "sum", ".v.a[*]", `"a":[`+list+`]`)
		if assert.NotEqual(t, "-", got, list) {
			assert.Equal(t, want, value(got), "%s = %s", list, got)
		}
	}
}
