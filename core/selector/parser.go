package selector

// ParseLabels parses a label selector. Its error is a [*SyntaxError].
//
//	selector    = [ requirement { "," requirement } ]
//	requirement = key | "!" key
//	            | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ]
//	            | key ( "in" | "notin" ) "(" [ value ] { "," [ value ] } ")"
//
// An omitted value is the empty string (LS5).
func ParseLabels(text string) (Labels, error) {
	p := parser{lexer: lexer{text: text}}
	p.advance()
	if p.tok.isEnd() {
		return Everything(), nil
	}
	var requirements []Requirement
	for {
		r, err := p.requirement()
		if err != nil {
			return Labels{}, err
		}
		requirements = append(requirements, r)
		if p.tok.isEnd() {
			return sorted(requirements), nil
		}
		if !p.tok.is(",") {
			return Labels{}, p.expected(`"," or the end`)
		}
		p.advance()
	}
}

// parser is a recursive-descent parser with one token of lookahead, tok.
type parser struct {
	lexer
	tok token
}

//go:noinline
func (p *parser) advance() { p.tok = p.next() }

func (p *parser) requirement() (Requirement, error) {
	op := Exists
	if p.tok.is("!") {
		op = DoesNotExist
		p.advance()
	}
	key, err := p.key()
	if err != nil || op == DoesNotExist || p.atRequirementEnd() {
		return makeRequirement(key, op, nil), err
	}
	if op, err = p.operator(); err != nil {
		return Requirement{}, err
	}
	if op == In || op == NotIn {
		values, err := p.set(op)
		return makeRequirement(key, op, values), err
	}
	value, err := p.value(op)
	return makeRequirement(key, op, []string{value}), err
}

func (p *parser) key() (string, error) {
	if !p.tok.word {
		return "", p.expected("a label key")
	}
	if problem := keyProblem(p.tok.text); problem != "" {
		return "", p.fail(problem)
	}
	key := p.tok.text
	p.advance()
	return key, nil
}

func (p *parser) operator() (Operator, error) {
	switch op := Operator(p.tok.text); op {
	case Equals, DoubleEquals, NotEquals, In, NotIn, GreaterThan, LessThan:
		p.advance()
		return op, nil
	}
	return "", p.expected("one of = == != in notin > <")
}

// value parses the operand of a comparison. An omitted value is "" (LS5).
func (p *parser) value(op Operator) (string, error) {
	if !p.tok.word && !p.atRequirementEnd() {
		return "", p.expected("a value after " + string(op))
	}
	value := ""
	if p.tok.word {
		value = p.tok.text
	}
	if problem := operandProblem(op, value); problem != "" {
		return "", p.fail(problem)
	}
	if p.tok.word {
		p.advance()
	}
	return value, nil
}

// set parses a parenthesized list of values. An empty element is "" (LS5),
// including the only element of "()".
func (p *parser) set(op Operator) ([]string, error) {
	if !p.tok.is("(") {
		return nil, p.expected(`"(" after ` + string(op))
	}
	var values []string
	for {
		p.advance() // skip "(" or ","
		value := ""
		if p.tok.word {
			value = p.tok.text
			if problem := operandProblem(op, value); problem != "" {
				return nil, p.fail(problem)
			}
			p.advance()
		}
		values = append(values, value)
		if p.tok.is(")") {
			p.advance()
			return values, nil
		}
		if !p.tok.is(",") {
			return nil, p.expected(`"," or ")" in the values of ` + string(op))
		}
	}
}

func (p *parser) atRequirementEnd() bool { return p.tok.isEnd() || p.tok.is(",") }

func (p *parser) expected(what string) error {
	return p.fail("expected " + what + ", found " + p.tok.String())
}

// fail returns an error at the current token.
func (p *parser) fail(message string) error {
	return &SyntaxError{Text: p.text, Offset: p.tok.at, Message: message, language: "label selector"}
}
