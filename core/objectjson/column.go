package objectjson

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// column is a compiled column.
type column struct {
	kind api.ValueKind
	// absent is the value of the cell if the object has no value for the column. It may
	// be Null.
	absent api.Value
	slot   int    // slot of the path; unused with a printer
	print  *print // nil without a printer
	cell   int    // number of the printer's cell
}

// columnCompiler compiles the columns of a schema.
type columnCompiler struct {
	find    Printers
	routes  []route
	slots   int
	columns []column
	prints  []*print
}

func (c *columnCompiler) add(declared *api.Column) error {
	if declared.Kind == api.Null || declared.Kind > api.Duration {
		return api.BadRequest("column " + lite.Quote(declared.Name) +
			": expected a kind of cell, one of Bool, Integer, Number, Date, String, Duration")
	}
	compiled := column{kind: declared.Kind, absent: absent(declared)}
	if declared.Printer != "" {
		if err := c.addPrint(declared, &compiled); err != nil {
			return err
		}
	} else if declared.Kind == api.Duration {
		return api.BadRequest("column " + lite.Quote(declared.Name) + ": only a printer computes a Duration")
	} else {
		steps, err := parseColumn(declared.Name, declared.Path)
		if err != nil {
			return err
		}
		compiled.slot = c.route(steps, false)
	}
	c.columns = append(c.columns, compiled)
	return nil
}

// route adds a route to a new slot, and returns the slot.
func (c *columnCompiler) route(steps []step, counts bool) int {
	c.routes = append(c.routes, route{steps: steps, slot: c.slots, counts: counts})
	c.slots++
	return c.slots - 1
}

// absent returns the default of a column for objects without a value, or Null.
func absent(c *api.Column) api.Value {
	switch c.Kind {
	case api.Integer:
		if n, ok := lite.ParseInt(c.Default); ok {
			return api.Value{Kind: api.Integer, Int: n}
		}
	case api.Bool:
		switch c.Default {
		case "true":
			return api.Value{Kind: api.Bool, Int: 1}
		case "false":
			return api.Value{Kind: api.Bool}
		}
	}
	return api.Value{}
}

// cell returns the value of a column, or the default of the column if the object has no
// value. It writes the text of a String to s.texts; takeTexts later sets that text in the
// cell.
func (s *Scanner) cell(c *column) api.Value {
	var v api.Value
	if c.print != nil {
		v = s.printed(c)
	} else {
		v = s.atPath(c.kind, s.results(c.slot))
	}
	if v.Kind == api.Null {
		return c.absent
	}
	return v
}

// atPath computes the value of a column from a list of captures that begins with index
// "first".
func (s *Scanner) atPath(kind api.ValueKind, first int) api.Value {
	switch kind {
	case api.Bool:
		return s.boolCell(first)
	case api.Integer:
		return s.integerCell(first)
	case api.Number:
		return s.numberCell(first)
	case api.Date:
		return s.dateCell(first)
	default:
		return s.stringCell(first)
	}
}

func (s *Scanner) boolCell(c int) api.Value {
	for ; c >= 0; c = s.captures[c].link {
		switch s.json(c)[0] {
		case 't':
			return api.Value{Kind: api.Bool, Int: 1}
		case 'f':
			return api.Value{Kind: api.Bool}
		}
	}
	return api.Value{}
}

func (s *Scanner) integerCell(c int) api.Value {
	var sum api.Value
	for ; c >= 0; c = s.captures[c].link {
		json := s.json(c)
		if text := string(json); !isNumber(json) || lite.HasAny(text, ".eE") {
			continue
		}
		n, ok := lite.ParseInt(string(json))
		total := sum.Int + n
		if overflows := (total < sum.Int) != (n < 0); !ok || overflows {
			return api.Value{}
		}
		sum = api.Value{Kind: api.Integer, Int: total}
	}
	return sum
}

func (s *Scanner) numberCell(c int) api.Value {
	var sum api.Value
	for ; c >= 0; c = s.captures[c].link {
		json := s.json(c)
		if !isNumber(json) {
			continue
		}
		n, ok := lite.ParseFloat(string(json))
		if total := sum.Float + n; ok && !math.IsInf(total, 0) {
			sum = api.Value{Kind: api.Number, Float: total}
		} else {
			return api.Value{}
		}
	}
	return sum
}

func (s *Scanner) dateCell(c int) api.Value {
	for ; c >= 0; c = s.captures[c].link {
		quoted, ok := stringContent(s.json(c))
		if !ok {
			continue
		}
		var buf [64]byte
		if !isPlain(quoted) {
			quoted = appendText(buf[:0], quoted)
		}
		if millis, ok := ParseDate(quoted); ok {
			return api.Value{Kind: api.Date, Int: millis}
		}
	}
	return api.Value{}
}

func (s *Scanner) stringCell(c int) api.Value {
	var cell api.Value
	for ; c >= 0; c = s.captures[c].link {
		before := len(s.texts.bytes)
		if cell.Kind == api.String {
			s.texts.bytes = append(s.texts.bytes, ',')
		}
		if !s.texts.addScalar(s.json(c)) {
			s.texts.bytes = s.texts.bytes[:before]
			continue
		}
		cell.Kind = api.String
	}
	if cell.Kind == api.String {
		s.texts.end()
	}
	return cell
}

func isNumber(json []byte) bool { return json[0] == '-' || isDigit(json[0]) }
