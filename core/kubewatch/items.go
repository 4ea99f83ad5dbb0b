package kubewatch

import (
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// items is a streaming parser of a list of any size, whose members may be in any order.
type items struct {
	rest    []byte
	at      int // parsed bytes of rest
	state   itemsState
	name    string // the name of the current member
	value   bool   // whether rest[start:at] is the beginning of an incomplete value
	start   int
	span    objectjson.Span
	kind    string
	version string
	next    string // the continue token
}

type itemsState uint8

const (
	beforeList itemsState = iota
	beforeFirstMember
	beforeMember
	beforeColon
	beforeValue
	afterMember
	beforeFirstItem
	beforeItem
	afterItem
	afterList
)

// feed parses the next piece of the body and passes complete items to the function take.
func (l *items) feed(piece []byte, take func(item []byte) error) error {
	if len(l.rest)+len(piece) > maxDocument {
		return broken("one object of more than 16 MiB, or a piece as large")
	}
	l.rest = append(l.rest, piece...)
	for {
		more, err := l.step(take)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	done := l.at
	if l.value {
		done = l.start
	}
	l.rest = l.rest[:copy(l.rest, l.rest[done:])]
	l.at, l.start = l.at-done, 0
	return nil
}

// step parses one token or part of a value. It returns false if more data is
// needed.
func (l *items) step(take func([]byte) error) (more bool, err error) {
	if l.value {
		return l.read(take)
	}
	for l.at < len(l.rest) && isBlank(l.rest[l.at]) {
		l.at++
	}
	if l.at == len(l.rest) {
		return false, nil
	}
	c := l.rest[l.at]
	if next, ok := l.sign(c); ok {
		l.state = next
		l.at++
		return true, nil
	}
	switch l.state {
	case beforeValue, beforeFirstItem, beforeItem:
	case beforeFirstMember, beforeMember:
		if c != '"' {
			return false, l.unexpected(c)
		}
	default:
		return false, l.unexpected(c)
	}
	l.value, l.start = true, l.at
	return true, nil
}

// sign returns the state after a structural character. It returns false if c is not a
// structural character that the current state allows.
func (l *items) sign(c byte) (itemsState, bool) {
	switch {
	case l.state == beforeList && c == '{':
		return beforeFirstMember, true
	case l.state == beforeColon && c == ':':
		return beforeValue, true
	case l.state == afterMember && c == ',':
		return beforeMember, true
	case (l.state == afterMember || l.state == beforeFirstMember) && c == '}':
		return afterList, true
	case l.state == beforeValue && c == '[' && l.name == "items":
		return beforeFirstItem, true
	case l.state == afterItem && c == ',':
		return beforeItem, true
	case (l.state == afterItem || l.state == beforeFirstItem) && c == ']':
		return afterMember, true
	}
	return 0, false
}

func (l *items) unexpected(c byte) error {
	return broken("a list with " + lite.Quote(string([]byte{c})) + " where that cannot be")
}

// read continues the current value. If the value is complete, read processes it and
// returns true.
func (l *items) read(take func([]byte) error) (more bool, err error) {
	end, complete := l.span.Find(l.rest, l.at)
	l.at = end
	if !complete {
		return false, nil
	}
	l.value = false
	raw := l.rest[l.start:end]
	switch l.state {
	case beforeFirstItem, beforeItem:
		l.state = afterItem
		return true, take(raw)
	case beforeFirstMember, beforeMember:
		name, err := objectjson.ParseDocument(raw)
		l.state, l.name = beforeColon, name.Text()
		return true, asBroken(err)
	}
	l.state = afterMember
	return true, l.member(raw)
}

func (l *items) member(raw []byte) error {
	d, err := objectjson.ParseDocument(raw)
	if err != nil {
		return asBroken(err)
	}
	switch l.name {
	case "kind":
		l.kind = d.Text()
	case "metadata":
		l.version, l.next = d.Member("resourceVersion").Text(), d.Member("continue").Text()
	case "items":
		if string(d) != "null" {
			return broken("the items of the list are no array")
		}
	}
	return nil
}

// end reports whether the list is complete.
func (l *items) end() bool { return l.state == afterList && blanks(l.rest) == len(l.rest) }

func asBroken(err error) error {
	if err == nil {
		return nil
	}
	return broken(err.Error())
}
