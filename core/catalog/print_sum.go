package catalog

import (
	"math"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

const (
	decimalSuffixes = "num kMGTPE" // powers of 1000 from 10^-9; the blank stands for no suffix
	binarySuffixes  = " KMGTPE"    // powers of 1024, each followed by an i
	noSuffix        = 3            // index of the blank in decimalSuffixes
)

// quantity is the number n * 1000^(unit-noSuffix), or n * 1024^unit if it is binary.
type quantity struct {
	n      int64
	unit   int
	binary bool
}

// parseQuantity parses a quantity in the canonical form, which has no fraction.
func parseQuantity(text string) (q quantity, ok bool) {
	end := len(text)
	for end > 0 && (text[end-1] < '0' || text[end-1] > '9') {
		end--
	}
	suffix := text[end:]
	switch {
	case suffix == "":
		q.unit = noSuffix
	case len(suffix) == 1 && suffix != " ":
		q.unit = strings.IndexByte(decimalSuffixes, suffix[0])
	case len(suffix) == 2 && suffix[0] != ' ' && suffix[1] == 'i':
		q.unit, q.binary = strings.IndexByte(binarySuffixes, suffix[0]), true
	default:
		q.unit = -1
	}
	if q.unit < 0 {
		return q, false
	}
	q.n, ok = lite.ParseInt(text[:end])
	return q, ok
}

// reduce expresses the quantity in a smaller unit, and reports whether n still fits 64
// bits.
func (q *quantity) reduce(unit int) bool {
	base := int64(1000)
	if q.binary {
		base = 1024
	}
	for ; q.unit > unit; q.unit-- {
		if q.n > math.MaxInt64/base || q.n < math.MinInt64/base {
			return false
		}
		q.n *= base
	}
	return true
}

// plain expresses a binary quantity without a suffix, and reports whether n still fits 64
// bits.
func (q *quantity) plain() bool {
	if !q.binary {
		return true
	}
	ok := q.reduce(0)
	q.unit, q.binary = noSuffix, false
	return ok
}

// printSum prints the sum of quantities in the canonical form, in the notation of the
// first quantity, as Kubernetes does. It prints nothing if a quantity is invalid or
// the sum does not fit 64 bits.
func printSum(v *objectjson.Values, out *objectjson.Cells) {
	var sum quantity
	binary := false
	for i, value := range v.All(0) {
		q, ok := parseQuantity(value.Text())
		if i == 0 {
			binary = q.binary
		}
		if !ok || !q.plain() {
			return
		}
		if i == 0 {
			sum = q
			continue
		}
		unit := min(sum.unit, q.unit)
		if !sum.reduce(unit) || !q.reduce(unit) || (q.n > 0) != (sum.n+q.n > sum.n) && q.n != 0 {
			return
		}
		sum.n += q.n
	}
	if len(v.All(0)) > 0 {
		addSum(out, sum, binary)
	}
	out.SetText(0)
}

func addSum(out *objectjson.Cells, q quantity, binary bool) {
	base, suffixes := int64(1000), decimalSuffixes
	if binary && q.reduce(noSuffix) && q.unit == noSuffix {
		base, suffixes, q.unit = 1024, binarySuffixes, 0
	} else {
		binary = false
	}
	if q.n == 0 {
		out.Add("0")
		return
	}
	for q.n%base == 0 && q.unit < len(suffixes)-1 {
		q.n, q.unit = q.n/base, q.unit+1
	}
	out.Text = strconv.AppendInt(out.Text, q.n, 10)
	if suffix := suffixes[q.unit]; suffix != ' ' {
		out.Text = append(out.Text, suffix)
		if binary {
			out.Add("i")
		}
	}
}
