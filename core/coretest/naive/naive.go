// Package naive evaluates queries in the most obvious way, as a model for tests. It
// shares no code with core/query.
package naive

import (
	"cmp"
	"math/big"
	"net/netip"
	"regexp"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

var quantity = regexp.MustCompile(`^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,3}|)$`)

// Quantity returns the value of a Kubernetes quantity, and false for any other string.
func Quantity(s string) (float64, bool) {
	parts := quantity.FindStringSubmatch(s)
	if parts == nil {
		return 0, false
	}
	number, suffix := strings.TrimSuffix(parts[1], "."), parts[2]
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, false
	}
	factor := "1"
	switch {
	case len(suffix) == 2 && suffix[1] == 'i':
		factor = new(big.Int).Lsh(big.NewInt(1), uint(10*(strings.Index("KMGTPE", suffix[:1])+1))).String()
	case len(suffix) > 1:
		factor = "1" + suffix
	case suffix != "":
		factor = map[string]string{"n": "1e-9", "u": "1e-6", "m": "1e-3", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "P": "1e15", "E": "1e18"}[suffix]
	}
	by, _ := new(big.Rat).SetString(factor)
	f, _ := value.Mul(value, by).Float64()
	return f, true
}

// Compare is like [api.Value.Compare], but an empty string is a null, and a quantity is a
// number. Other strings have the order of [Natural].
func Compare(a, b api.Value) int {
	a, b = typed(a), typed(b)
	if a.Kind == api.String && b.Kind == api.String {
		return Natural(a.Text, b.Text)
	}
	return a.Compare(b)
}

func typed(v api.Value) api.Value {
	if v.Kind != api.String {
		return v
	}
	if v.Text == "" {
		return api.Value{}
	}
	if f, ok := Quantity(v.Text); ok {
		return api.Value{Kind: api.Number, Float: f}
	}
	return v
}

// Natural orders two texts by their characters, where a sequence of digits is
// one character that compares by value. IPv6 addresses compare as addresses.
func Natural(a, b string) int {
	if x, y := ipv6(a), ipv6(b); x.IsValid() && y.IsValid() {
		return x.Compare(y)
	}
	as, bs := split(a), split(b)
	for i := 0; i < len(as) && i < len(bs); i++ {
		x, xok := new(big.Int).SetString(as[i], 10)
		y, yok := new(big.Int).SetString(bs[i], 10)
		c := cmp.Compare(as[i][0], bs[i][0])
		if xok && yok {
			c = x.Cmp(y)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func split(s string) []string {
	var parts []string
	for s != "" {
		n := 1
		for digits := 0; digits < len(s) && s[digits] >= '0' && s[digits] <= '9'; n = digits {
			digits++
		}
		parts, s = append(parts, s[:n]), s[n:]
	}
	return parts
}

func ipv6(s string) netip.Addr {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.Zone() != "" || strings.Contains(s, ".") {
		return netip.Addr{}
	}
	return a
}

// Truthy reports whether a condition that consists only of a name holds, given the value
// of that name.
func Truthy(v api.Value) bool {
	switch v.Kind {
	case api.Null:
		return false
	case api.Number:
		return v.Float != 0
	case api.String:
		parts := strings.Split(v.Text, "/")
		ready := len(parts) == 2 && parts[0] == parts[1] && regexp.MustCompile(`^[0-9]*[1-9][0-9]*$`).MatchString(parts[0])
		return ready || strings.EqualFold(v.Text, "true")
	}
	return v.Int != 0
}

// Includes reports whether a text contains another, ignoring ASCII case.
func Includes(text, part string) bool { return strings.Contains(lower(text), lower(part)) }

func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// Search reports whether each word is in one of the texts. A word with the prefix "-"
// must be in none of the texts.
func Search(words []string, texts []string) bool {
	for _, word := range words {
		word, excluded := strings.CutPrefix(word, "-")
		found := false
		for _, text := range texts {
			found = found || Includes(text, word)
		}
		if found == excluded {
			return false
		}
	}
	return true
}

// Holds reports whether the result of a comparison satisfies the operator, one of = != <
// <= > >=.
func Holds(op string, order int) bool {
	switch op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
