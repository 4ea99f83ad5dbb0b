package api

import (
	"cmp"
	"strconv"
)

// ValueKind is the type of one table cell.
type ValueKind uint8

// The kinds of cell. The numbers are on the wire and fix the order of cells of
// different kinds; do not reorder.
const (
	Null ValueKind = iota
	Bool
	Integer
	Number
	Date
	String
)

// Value is one typed cell of a table. Integer and Bool (0 or 1) use Int, Date
// is milliseconds since the epoch in Int, Number uses Float, String uses Text.
type Value struct {
	Kind  ValueKind
	Int   int64
	Float float64
	Text  string
}

// Compare orders two cells: nulls first, then by kind, then by value. It is
// total, so a sort by it is deterministic: NaN sorts before other numbers.
func (v Value) Compare(o Value) int {
	if v.Kind != o.Kind {
		return cmp.Compare(v.Kind, o.Kind)
	}
	switch v.Kind {
	case Null:
		return 0
	case Number:
		return cmp.Compare(v.Float, o.Float)
	case String:
		return cmp.Compare(v.Text, o.Text)
	}
	return cmp.Compare(v.Int, o.Int)
}

// String is the cell as a terminal shows it. A Date is its milliseconds: the
// age depends on a clock, which api does not have.
func (v Value) String() string {
	switch v.Kind {
	case Null:
		return ""
	case Bool:
		return strconv.FormatBool(v.Int != 0)
	case Number:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case String:
		return v.Text
	}
	return strconv.FormatInt(v.Int, 10)
}
