package query

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// condition compares an operand with values.
type condition struct {
	operand Operand
	op      operator
	negated bool
	values  []literal // the condition holds if one of these values matches
}

type operator uint8

const (
	isTrue operator = iota // a name without an operator
	exists
	equals
	reported // ===, equal as text in the form that groups report
	includes // ~
	less
	lessOrEqual
	greater
	greaterOrEqual
)

// compareOperator returns the operator of a symbol, and whether the symbol negates the
// comparison. It returns false for any other symbol.
func compareOperator(symbol string) (op operator, negated, ok bool) {
	switch symbol {
	case "=", "==":
		return equals, false, true
	case "===":
		return reported, false, true
	case "!=":
		return equals, true, true
	case "~":
		return includes, false, true
	case "!~":
		return includes, true, true
	case "<":
		return less, false, true
	case "<=":
		return lessOrEqual, false, true
	case ">":
		return greater, false, true
	case ">=":
		return greaterOrEqual, false, true
	}
	return 0, false, false
}

// literal is a value in a condition.
type literal struct {
	text string // in lower case for includes
	// value is the parsed text, as a value of the operand's type. For a text operand, the
	// value is a Number if the text is a quantity, and otherwise the natural text.
	value api.Value
	// age means that value is a duration in milliseconds before now.
	age bool
}

// newLiteral parses a text as a value of an operand. If the text is invalid, it returns
// the reason as message.
func newLiteral(o *Operand, op operator, source string) (l literal, message string) {
	l.text = source
	if op == reported {
		return l, ""
	}
	if op == includes {
		if l.text = toLower(source); o.kind == api.Date || o.kind == api.Duration {
			return l, "a time has no text to search; compare it with < <= > >="
		}
		return l, ""
	}
	if n, ok := lite.ParseInt(source); ok && op == equals && (o.kind == api.Date || o.kind == api.Duration) {
		l.value = api.Value{Kind: o.kind, Int: n} // facets report times in milliseconds
		return l, ""
	}
	switch o.kind {
	case api.Bool:
		return boolLiteral(l)
	case api.Integer, api.Number:
		return numberLiteral(l)
	case api.Date:
		return dateLiteral(l)
	case api.Duration:
		millis, ok := parseDuration(source)
		if l.value = (api.Value{Kind: api.Duration, Int: millis}); !ok {
			return l, "expected a duration such as 90s, 5m, 1h30m or 7d, found " + lite.Quote(source)
		}
		return l, ""
	}
	if f, ok := ParseQuantity(source); ok && !o.Fixed() {
		l.value = api.Value{Kind: api.Number, Float: f}
	} else {
		l.value, _ = NaturalText(text(source), nil)
	}
	return l, ""
}

func boolLiteral(l literal) (literal, string) {
	l.value = api.Value{Kind: api.Bool}
	switch {
	case lite.EqualFold(l.text, "true"):
		l.value.Int = 1
	case !lite.EqualFold(l.text, "false"):
		return l, "expected true or false, found " + lite.Quote(l.text)
	}
	return l, ""
}

func numberLiteral(l literal) (literal, string) {
	if n, ok := lite.ParseInt(l.text); ok {
		l.value = api.Value{Kind: api.Integer, Int: n}
		return l, ""
	}
	if f, ok := ParseQuantity(l.text); ok {
		l.value = api.Value{Kind: api.Number, Float: f}
		return l, ""
	}
	return l, "expected a number such as 3, 0.5 or 512Mi, found " + lite.Quote(l.text)
}

func dateLiteral(l literal) (literal, string) {
	l.value = api.Value{Kind: api.Date}
	if millis, ok := parseDuration(l.text); ok {
		l.value.Int, l.age = millis, true
		return l, ""
	}
	full := l.text
	if len(full) == len("2026-11-23") {
		full += "T00:00:00Z"
	}
	millis, ok := objectjson.ParseDate([]byte(full))
	if l.value.Int = millis; !ok {
		return l, "expected an age such as 90s, 5m, 1h30m or 7d, or a time such as 2026-11-23 or 2026-11-23T10:00:00Z, found " + lite.Quote(l.text)
	}
	return l, ""
}

// parseDuration returns a duration such as 1h30m in milliseconds, and false for other
// texts.
func parseDuration(s string) (millis int64, ok bool) {
	const maxMillis = 1 << 52
	for s != "" {
		digits := 0
		for digits < len(s) && isDigit(s[digits]) {
			digits++
		}
		n, isNumber := lite.ParseUint(s[:digits])
		unit, length := durationUnit(s[digits:])
		if !isNumber || unit == 0 || n > uint64((maxMillis-millis)/unit) {
			return 0, false
		}
		millis, s, ok = millis+int64(n)*unit, s[digits+length:], true
	}
	return millis, ok
}

func durationUnit(s string) (millis int64, length int) {
	switch {
	case s == "":
	case len(s) > 1 && s[0] == 'm' && s[1] == 's':
		return 1, 2
	case s[0] == 's':
		return 1000, 1
	case s[0] == 'm':
		return 60_000, 1
	case s[0] == 'h':
		return 3_600_000, 1
	case s[0] == 'd':
		return 24 * 3_600_000, 1
	case s[0] == 'w':
		return 7 * 24 * 3_600_000, 1
	}
	return 0, 0
}

// holds reports whether the condition holds for a row. A missing value is neither less
// nor greater than another value.
func (c *condition) holds(r *Row) bool {
	v := c.operand.Value(r)
	switch c.op {
	case isTrue:
		return isTruthy(v)
	case exists:
		return v.Kind != api.Null && (v.Kind != api.String || v.Text != "")
	}
	for i := range c.values {
		if c.compare(v, &c.values[i], r.Now) {
			return !c.negated
		}
	}
	return c.negated
}

// isTruthy reports whether a condition without an operator, such as "ready", holds for
// the value. A text is true if it is "true", or a ratio such as 2/2 whose numbers are
// equal and not zero.
func isTruthy(v api.Value) bool {
	switch v.Kind {
	case api.Null:
		return false
	case api.Number:
		return v.Float != 0
	case api.String:
		if part, all, ok := lite.Cut(v.Text, '/'); ok {
			n, isNumber := lite.ParseUint(part)
			return isNumber && part == all && n > 0
		}
		return lite.EqualFold(v.Text, "true")
	}
	return v.Int != 0
}

func (c *condition) compare(v api.Value, l *literal, now int64) bool {
	switch c.op {
	case equals:
		return equal(v, l, now)
	case reported:
		return v.String() == l.text
	case includes:
		if v.Kind == api.String {
			return contains(v.Text, l.text)
		}
		return contains(v.String(), l.text)
	}
	order, ok := compareWith(v, l, now)
	if !ok {
		return false
	}
	switch c.op {
	case less:
		return order < 0
	case lessOrEqual:
		return order <= 0
	case greater:
		return order > 0
	}
	return order >= 0
}

func equal(v api.Value, l *literal, now int64) bool {
	if v.Kind == api.String {
		if v.Text == l.text || l.value.Kind != api.Number {
			return v.Text == l.text
		}
		f, ok := ParseQuantity(v.Text)
		return ok && f == l.value.Float
	}
	if v.Kind == api.Null {
		return l.text == ""
	}
	order, ok := compareWith(v, l, now)
	return ok && order == 0
}

// compareWith returns how a value compares with a literal: a negative number, zero or a
// positive number. It returns false if the two are not comparable.
func compareWith(v api.Value, l *literal, now int64) (order int, ok bool) {
	switch v.Kind {
	case api.Null:
		return 0, false
	case api.String:
		return compareText(v.Text, l)
	case api.Date:
		if l.age {
			return compareInt(now-v.Int, l.value.Int), true
		}
	case api.Integer:
		if l.value.Kind == api.Number {
			v = api.Value{Kind: api.Number, Float: float64(v.Int)}
		}
	case api.Number:
		if l.value.Kind == api.Integer {
			return v.Compare(api.Value{Kind: api.Number, Float: float64(l.value.Int)}), true
		}
	}
	return v.Compare(l.value), v.Kind == l.value.Kind
}

func compareText(s string, l *literal) (order int, ok bool) {
	if l.value.Kind == api.Number {
		f, ok := leadingNumber(s)
		return api.Value{Kind: api.Number, Float: f}.Compare(l.value), ok
	}
	if s == "" {
		return 0, false
	}
	var scratch [64]byte
	v, _ := NaturalText(text(s), scratch[:0])
	return v.Compare(l.value), true
}

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// flip returns the first time after r.Now at which the result of the condition may change
// although the row does not. It returns zero if there is no such time.
func (c *condition) flip(r *Row) int64 {
	if c.operand.kind != api.Date {
		return 0
	}
	var next int64
	v := c.operand.Value(r)
	for i := range c.values {
		if l := &c.values[i]; l.age && v.Kind == api.Date {
			// The condition changes when the age reaches the literal, or a
			// millisecond later, when the age exceeds it.
			at := v.Int + l.value.Int
			if at <= r.Now {
				at++
			}
			if at > r.Now && (next == 0 || at < next) {
				next = at
			}
		}
	}
	return next
}
