package view

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// aggregate computes the count, sum, minimum and maximum of an operand's numbers, by group. A
// change to one object takes two searches in a sorted sequence of all objects.
type aggregate struct {
	of query.Operand
	at []position // by object; set for the objects that order contains
	// order contains the objects with a number, by group and number.
	order store.Ordered
}

// position is the sort key of an object in the order of an aggregate.
type position struct {
	number float64
	group  uint32
}

// sum adds up numbers in whole units: multiples of 2^32, of 1 and of 10^-9, which is the
// finest unit of a quantity. No rounding error remains when a number is removed.
type sum struct {
	values             uint64
	high, whole, nanos int64
}

const highUnit = 1 << 32

func (s *sum) add(n float64, by int64) {
	high := int64(n / highUnit)
	n -= float64(high) * highUnit
	whole := int64(n)
	s.values += uint64(by)
	s.high += by * high
	s.whole += by * whole
	s.nanos += by * int64(math.RoundToEven((n-float64(whole))*1e9))
}

func (s *sum) total() float64 {
	return float64(s.high)*highUnit + float64(s.whole) + float64(s.nanos)/1e9
}

// count adds the number of an object to a group if by is 1, and removes it if by is -1. A
// row without a number is ignored.
func (a *aggregate) count(id store.ID, row *query.Row, group uint32, s *sum, by int) {
	n, ok := numberOf(a.of.Value(row))
	if !ok {
		return
	}
	s.add(n, int64(by))
	if by < 0 {
		a.order.Remove(id, a.before(id))
		return
	}
	if missing := int(id) + 1 - len(a.at); missing > 0 {
		a.at = append(a.at, make([]position, missing)...)
	}
	a.at[id] = position{n, group}
	a.order.Insert(id, a.before(id))
}

func (a *aggregate) before(id store.ID) func(store.ID) bool {
	p := a.at[id]
	return func(other store.ID) bool {
		switch o := &a.at[other]; {
		case o.group != p.group:
			return o.group < p.group
		case o.number != p.number:
			return o.number < p.number
		}
		return other < id
	}
}

// report returns the aggregate of a group.
func (a *aggregate) report(group uint32, s *sum) wire.Aggregate {
	if s.values == 0 {
		return wire.Aggregate{}
	}
	_, first := a.order.Around(func(id store.ID) bool { return a.at[id].group < group })
	last, _ := a.order.Around(func(id store.ID) bool { return a.at[id].group <= group })
	return wire.Aggregate{Values: s.values, Sum: s.total(), Min: a.at[first].number, Max: a.at[last].number}
}

// maxNumber limits the absolute value of the numbers that are aggregated. Greater numbers
// are ignored.
const maxNumber = 1 << 62

// numberOf converts a value to a number, and reports whether the value can be aggregated.
// A time is a number of milliseconds, and a text must be a quantity.
func numberOf(v api.Value) (n float64, ok bool) {
	switch v.Kind {
	case api.Null:
		return 0, false
	case api.Number:
		n = v.Float
	case api.String:
		if n, ok = query.ParseQuantity(v.Text); !ok {
			return 0, false
		}
	default:
		n = float64(v.Int)
	}
	return n, -maxNumber < n && n < maxNumber
}
