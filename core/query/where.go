package query

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/selector"
)

// The limits of a condition, and the Cause of the error for each exceeded limit. For
// MaxConditions, each value of a set is a separate condition.
const (
	MaxWhereBytes   = 4096
	MaxConditions   = 128
	MaxNesting      = 32
	LimitWhereBytes = "max-where-bytes"
	LimitConditions = "max-where-conditions"
	LimitNesting    = "max-where-nesting"
)

// Where is a condition on rows. The zero value holds for every row. A Where is immutable
// and safe to copy.
type Where struct{ terms []expression }

// expression is a condition, or a combination of expressions.
type expression struct {
	op        combination
	parts     []expression
	condition condition
}

type combination uint8

const (
	single combination = iota
	and
	or
	not
)

// ParseWhere parses a condition and resolves its names:
//
//	where     = [ or ]
//	or        = and { "or" and }
//	and       = factor { "and" factor }
//	factor    = "not" factor | "(" or ")" | condition
//	condition = name [ compare value | ( "in" | "notin" ) "(" value { "," value } ")" | "exists" ]
//	compare   = "=" | "==" | "===" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">="
//
// Keywords may have any case. Names and values with special characters are enclosed in
// double or single quotes. "===" compares with the text that groups report for the value,
// so that it selects exactly the rows of a group. [Resolve] defines the names. The error
// is a 400 with the position, or a 413 that names a limit.
func ParseWhere(schema *api.Schema, source string) (Where, *api.Status) {
	if len(source) > MaxWhereBytes {
		return Where{}, api.LimitReached(api.CodeTooLarge, LimitWhereBytes, "the condition is longer than 4096 bytes")
	}
	p := parser{lexer: lexer{text: source}, schema: schema}
	if p.advance(); p.tok.kind == endToken && p.problem == nil {
		return Where{}, nil
	}
	e := p.or()
	if p.tok.kind != endToken {
		p.expected(`"and", "or" or the end`)
	}
	switch {
	case p.limit != nil:
		return Where{}, p.limit
	case p.problem != nil:
		return Where{}, selector.NewSyntaxError("condition", source, p.problem.at, p.problem.message).Status()
	case e.op == and:
		return Where{e.parts}, nil
	}
	return Where{[]expression{e}}, nil
}

// parser is a recursive-descent parser with one token of lookahead, tok. After an error,
// tok is the end of the text.
type parser struct {
	lexer
	schema     *api.Schema
	tok        token
	problem    *problem
	limit      *api.Status
	nesting    int
	conditions int
}

func (p *parser) advance() {
	if p.problem != nil || p.limit != nil {
		return
	}
	tok, problem := p.next()
	if p.tok = tok; problem != nil {
		p.fail(problem.at, problem.message)
	}
}

// fail records the first error, and sets the current token to the end of the text.
func (p *parser) fail(at int, message string) {
	if p.problem == nil && p.limit == nil {
		p.problem = &problem{at, message}
	}
	p.tok = token{at: len(p.text)}
}

func (p *parser) exceed(limit, message string) {
	if p.problem == nil && p.limit == nil {
		p.limit = api.LimitReached(api.CodeTooLarge, limit, message)
	}
	p.tok = token{at: len(p.text)}
}

func (p *parser) expected(what string) {
	hint := ""
	switch {
	case p.tok.is("&&"):
		hint = `; write "and"`
	case p.tok.is("||"):
		hint = `; write "or"`
	case p.tok.is("!"):
		hint = `; write "not"`
	}
	p.fail(p.tok.at, "expected "+what+", found "+p.tok.String()+hint)
}

func (p *parser) or() expression { return p.combine(or, "or", p.and) }

func (p *parser) and() expression { return p.combine(and, "and", p.factor) }

func (p *parser) combine(op combination, word string, part func() expression) expression {
	e := part()
	if !p.tok.keyword(word) {
		return e
	}
	e = expression{op: op, parts: []expression{e}}
	for p.tok.keyword(word) {
		p.advance()
		e.parts = append(e.parts, part())
	}
	return e
}

func (p *parser) factor() expression {
	if !p.tok.keyword("not") && !p.tok.is("(") {
		return expression{condition: p.condition()}
	}
	if p.nesting++; p.nesting > MaxNesting {
		p.exceed(LimitNesting, "the condition is nested more than 32 times")
		return expression{}
	}
	defer func() { p.nesting-- }()
	if p.tok.keyword("not") {
		p.advance()
		return expression{op: not, parts: []expression{p.factor()}}
	}
	p.advance()
	e := p.or()
	if !p.tok.is(")") {
		p.expected(`"and", "or" or ")"`)
		return e
	}
	p.advance()
	return e
}

func (p *parser) condition() condition {
	c := condition{op: isTrue}
	if !p.tok.isText() {
		p.expected(`a column, a field, labels[...], "not" or "("`)
		return c
	}
	name := p.tok
	operand, known := Resolve(p.schema, name.text)
	if !known {
		p.fail(name.at, lite.Quote(name.text)+": "+unknownName(p.schema, name.text))
		return c
	}
	c.operand = operand
	p.count()
	p.advance()
	switch op, negated, ok := compareOperator(p.tok.text); {
	case p.tok.keyword("exists"):
		c.op = exists
		p.advance()
	case p.tok.keyword("in"), p.tok.keyword("notin"):
		c.op, c.negated = equals, p.tok.keyword("notin")
		p.set(&c)
	case p.tok.kind == symbolToken && ok:
		c.op, c.negated = op, negated
		symbol := p.tok.text
		p.advance()
		p.value(&c, "a value after "+symbol)
	}
	return c
}

// set parses the values of "in" and "notin".
func (p *parser) set(c *condition) {
	word := p.tok.text
	if p.advance(); !p.tok.is("(") {
		p.expected(`"(" after ` + word)
		return
	}
	for {
		p.advance() // skip "(" or ","
		p.value(c, "a value")
		if p.tok.is(")") {
			p.advance()
			return
		}
		if !p.tok.is(",") {
			p.expected(`"," or ")" in the values of ` + word)
			return
		}
		p.count()
	}
}

func (p *parser) count() {
	if p.conditions++; p.conditions > MaxConditions {
		p.exceed(LimitConditions, "the condition has more than 128 comparisons and values")
	}
}

// value parses one value of a condition.
func (p *parser) value(c *condition, what string) {
	if !p.tok.isText() {
		p.expected(what)
		return
	}
	v, message := newLiteral(&c.operand, c.op, p.tok.text)
	if message != "" {
		p.fail(p.tok.at, message)
		return
	}
	c.values = append(c.values, v)
	p.advance()
}

// Empty reports whether the condition holds for every row.
func (w Where) Empty() bool { return len(w.terms) == 0 }

// Holds reports whether the condition holds for a row.
//
//go:noinline
func (w Where) Holds(r *Row) bool {
	for i := range w.terms {
		if !w.terms[i].holds(r) {
			return false
		}
	}
	return true
}

func (e *expression) holds(r *Row) bool {
	switch e.op {
	case single:
		return e.condition.holds(r)
	case not:
		return !e.parts[0].holds(r)
	}
	for i := range e.parts {
		if e.parts[i].holds(r) == (e.op == or) {
			return e.op == or
		}
	}
	return e.op == and
}

// each calls visit for every condition in the expression.
func (e *expression) each(visit func(*condition)) {
	if e.op == single {
		visit(&e.condition)
	}
	for i := range e.parts {
		e.parts[i].each(visit)
	}
}

// Operands calls visit with the operand of every condition.
func (w Where) Operands(visit func(*Operand)) {
	for i := range w.terms {
		w.terms[i].each(func(c *condition) { visit(&c.operand) })
	}
}

// Flip returns the first time after r.Now at which the ages of the row's dates may change
// the result of the condition. It returns zero if there is no such time.
func (w Where) Flip(r *Row) int64 {
	var next int64
	for i := range w.terms {
		w.terms[i].each(func(c *condition) {
			if at := c.flip(r); at != 0 && (next == 0 || at < next) {
				next = at
			}
		})
	}
	return next
}

// Ages reports whether the condition compares ages, so that its result may change with
// time.
func (w Where) Ages() bool {
	ages := false
	for i := range w.terms {
		w.terms[i].each(func(c *condition) {
			for j := range c.values {
				ages = ages || c.values[j].age
			}
		})
	}
	return ages
}
