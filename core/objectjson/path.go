package objectjson

import (
	"math"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// stepKind distinguishes the three ways to descend one level.
type stepKind uint8

const (
	toMember  stepKind = iota // by name
	toElement                 // by position
	toEach                    // to every element of an array
)

// step is one level of a path. Steps can be compared with ==.
type step struct {
	kind  stepKind
	name  string
	index int
}

// covers reports whether s selects every value that t selects.
func (s step) covers(t step) bool {
	return s == t || s.kind == toEach && t.kind == toElement
}

// parseField parses the dotted path of a selectable field.
func parseField(field string) ([]step, error) {
	var steps []step
	for name := range strings.SplitSeq(field, ".") {
		if name == "" {
			return nil, api.BadRequest("field " + lite.Quote(field) +
				`: expected member names joined by dots, such as "status.phase"`)
		}
		steps = append(steps, step{name: name})
	}
	return steps, tooLong("field "+lite.Quote(field), steps)
}

// parseColumn parses a path of the named column.
func parseColumn(name, path string) ([]step, error) {
	p := pathParser{text: path}
	steps, ok := p.parse()
	if !ok {
		return nil, api.BadRequest("column " + lite.Quote(name) + ": path " + lite.Quote(path) +
			", offset " + strconv.Itoa(p.pos) + ": expected " + p.expected)
	}
	return steps, tooLong("column "+lite.Quote(name), steps)
}

func tooLong(what string, steps []step) error {
	if len(steps) >= maxDepth {
		return api.BadRequest(what + ": path of more than " + maxDepthText + " steps")
	}
	return nil
}

// pathParser parses a column path. If parse fails, pos and expected describe the
// error.
type pathParser struct {
	text     string
	pos      int
	expected string
}

func (p *pathParser) parse() (steps []step, ok bool) {
	p.accept('.')
	named := p.peek() != '[' // the first name needs no dot before it
	for named || p.pos < len(p.text) {
		var s step
		switch {
		case named || p.accept('.'):
			s, ok = p.member()
		case p.accept('['):
			s, ok = p.bracket()
		default:
			return nil, p.fail(`"." or "["`)
		}
		if !ok {
			return nil, false
		}
		steps, named = append(steps, s), false
	}
	return steps, true
}

func (p *pathParser) fail(expected string) bool {
	p.expected = expected
	return false
}

// peek returns the next byte, or zero at the end.
func (p *pathParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *pathParser) accept(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// member parses a name up to the next "." or "[". A character with a special meaning in
// full JSONPath belongs to the name only after a backslash.
func (p *pathParser) member() (step, bool) {
	const reserved = `.[]{}()*?@$,:'"\`
	var name []byte
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case c == '.' || c == '[':
			return step{name: string(name)}, len(name) > 0 || p.fail("a member name")
		case c == '\\' && p.pos+1 < len(p.text):
			p.pos++
			c = p.text[p.pos]
		case c <= ' ' || strings.IndexByte(reserved, c) >= 0:
			return step{}, p.fail("a member name")
		}
		name = append(name, c)
		p.pos++
	}
	return step{name: string(name)}, len(name) > 0 || p.fail("a member name")
}

// bracket parses the rest of a step after "[".
func (p *pathParser) bracket() (s step, ok bool) {
	switch c := p.peek(); {
	case c == '*':
		p.pos++
		s, ok = step{kind: toEach}, true
	case c == '\'' || c == '"':
		p.pos++
		s, ok = p.quoted(c)
	case isDigit(c):
		s, ok = p.index()
	default:
		return s, p.fail(`a position, "*" or a quoted name`)
	}
	if ok && !p.accept(']') {
		return s, p.fail(`"]"`)
	}
	return s, ok
}

func (p *pathParser) index() (step, bool) {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	n, ok := lite.ParseInt(p.text[start:p.pos])
	if !ok || n > math.MaxInt32 {
		p.pos = start
		return step{}, p.fail("a position that fits an integer")
	}
	return step{kind: toElement, index: int(n)}, true
}

func (p *pathParser) quoted(quote byte) (step, bool) {
	var name []byte
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch c {
		case quote:
			p.pos++
			return step{name: string(name)}, true
		case '\\':
			p.pos++
			if c = p.peek(); c != '\'' && c != '"' && c != '\\' {
				return step{}, p.fail("a quote or a backslash")
			}
		}
		name = append(name, c)
		p.pos++
	}
	return step{}, p.fail("a closing quote")
}
