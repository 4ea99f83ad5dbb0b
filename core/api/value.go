package api

import (
	"cmp"
	"strconv"
)

// ValueKind is the type of a table cell.
type ValueKind uint8

// The cell types. The numbers are part of the wire format and define the order of
// cells of different types; do not reorder them.
const (
	Null ValueKind = iota
	Bool
	Integer
	Number
	Date
	String
	Duration
)

// Value is one table cell. Integer and Bool (0 or 1) use Int. Date stores
// milliseconds since the epoch in Int, and Duration a number of milliseconds.
// Number uses Float, and String uses Text.
//
// An Integer may count events. Time is then the time of the last event in
// milliseconds since the epoch, or zero if unknown. Tables then show the age of that
// event: "3 (5m ago)".
//
// A String may also have a Time, or zero if it has none. Tables then show the text with the
// age of the Time: "Started (5m ago)". If the text is empty, they show "5m ago", or "in 5m"
// for a Time in the future. Sorting and searches use only the text.
type Value struct {
	Kind  ValueKind
	Int   int64
	Time  int64
	Float float64
	Text  string
}

// Compare orders two cells: nulls first, then by type, then by value. It
// ignores Time. The order is total: NaN sorts before all other numbers.
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

// String returns the value as text. A Date or a Duration is a number of
// milliseconds, and Time is omitted.
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
