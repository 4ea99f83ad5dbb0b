package selector

import (
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// Operator relates a label key to values. The text of an Operator is its spelling in a
// selector, except that Exists is written as the key alone.
type Operator string

// The operators (LS2). Equals and DoubleEquals differ only in spelling, which the
// canonical text preserves (LS10).
const (
	Exists       Operator = "exists"
	DoesNotExist Operator = "!"
	Equals       Operator = "="
	DoubleEquals Operator = "=="
	NotEquals    Operator = "!="
	In           Operator = "in"
	NotIn        Operator = "notin"
	GreaterThan  Operator = ">"
	LessThan     Operator = "<"
)

// Requirement is one condition on one label. It is immutable.
type Requirement struct {
	key    string
	op     Operator
	values []string // sorted, unique
	bound  int64    // the operand of GreaterThan or LessThan
}

// NewRequirement returns a requirement. It validates the arguments as the parser does:
// the key and the values must be valid (LS6, LS7), and the number of values must fit the
// operator. The value for GreaterThan and LessThan must be an integer (LS8). The error is
// an [*api.Status] 400. NewRequirement copies the values.
func NewRequirement(key string, op Operator, values []string) (Requirement, error) {
	if problem := keyProblem(key); problem != "" {
		return Requirement{}, api.BadRequest(problem)
	}
	if problem := countProblem(op, len(values)); problem != "" {
		return Requirement{}, api.BadRequest("requirement on label " + quote(key) + ": " + problem)
	}
	for _, v := range values {
		if problem := operandProblem(op, v); problem != "" {
			return Requirement{}, api.BadRequest("requirement on label " + quote(key) + ": " + problem)
		}
	}
	return makeRequirement(key, op, slices.Clone(values)), nil
}

func countProblem(op Operator, n int) string {
	switch op {
	case Exists, DoesNotExist:
		if n != 0 {
			return "operator " + string(op) + " takes no value"
		}
	case Equals, DoubleEquals, NotEquals, GreaterThan, LessThan:
		if n != 1 {
			return "operator " + string(op) + " takes exactly one value, found " + strconv.Itoa(n)
		}
	case In, NotIn:
		if n == 0 {
			return "operator " + string(op) + " takes at least one value"
		}
	default:
		return "unknown operator " + quote(string(op))
	}
	return ""
}

// makeRequirement returns a requirement without validation, and takes ownership of
// values.
func makeRequirement(key string, op Operator, values []string) Requirement {
	r := Requirement{key: key, op: op}
	if op == GreaterThan || op == LessThan {
		r.bound, _ = lite.ParseInt(values[0])
	}
	lite.SortStrings(values)
	r.values = slices.Compact(values)
	return r
}

// Key returns the label key.
func (r Requirement) Key() string { return r.key }

// Operator returns the operator of the requirement.
func (r Requirement) Operator() Operator { return r.op }

// Values returns a copy of the operands, sorted and unique.
func (r Requirement) Values() []string { return slices.Clone(r.values) }

// NumValues returns the number of operands.
func (r Requirement) NumValues() int { return len(r.values) }

// Matches reports whether a label set meets the requirement (LS8, LS9). No set
// meets the zero Requirement.
func (r Requirement) Matches(set api.Labels) bool {
	value, present := set.Get(r.key)
	switch r.op {
	case Exists:
		return present
	case DoesNotExist:
		return !present
	case Equals, DoubleEquals, In:
		return present && r.has(value)
	case NotEquals, NotIn:
		return !present || !r.has(value)
	case GreaterThan, LessThan:
		return present && r.compare(value)
	}
	return false
}

func (r Requirement) has(value string) bool {
	if len(r.values) == 1 {
		return r.values[0] == value
	}
	_, found := slices.BinarySearch(r.values, value)
	return found
}

// compare reports whether a label is strictly greater or less than the bound. It returns
// false for a label that is not an int64.
func (r Requirement) compare(value string) bool {
	n, ok := lite.ParseInt(value)
	if !ok {
		return false
	}
	if r.op == GreaterThan {
		return n > r.bound
	}
	return n < r.bound
}

// String returns the canonical text of the requirement (LS10).
func (r Requirement) String() string {
	switch r.op {
	case Exists:
		return r.key
	case DoesNotExist:
		return "!" + r.key
	case In, NotIn:
		return r.key + " " + string(r.op) + " (" + lite.Join(r.values, ",") + ")"
	}
	return r.key + string(r.op) + lite.Join(r.values, ",")
}
