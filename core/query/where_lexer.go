package query

import (
	"strings"

	"github.com/watchglass/watchglass/core/internal/lite"
)

type tokenKind uint8

const (
	endToken tokenKind = iota
	wordToken
	quotedToken // a word in quotes, which is never a keyword
	symbolToken
)

// token is a token of a condition. The text of a quoted token has no quotes.
type token struct {
	kind tokenKind
	text string
	at   int // byte offset
}

func (t token) is(symbol string) bool { return t.kind == symbolToken && t.text == symbol }

// keyword reports whether the token is the given word, in any ASCII case, and not in
// quotes.
func (t token) keyword(word string) bool { return t.kind == wordToken && lite.EqualFold(t.text, word) }

// isText reports whether the token is a name or a value.
func (t token) isText() bool { return t.kind == wordToken || t.kind == quotedToken }

func (t token) String() string {
	if t.kind == endToken {
		return "the end"
	}
	return lite.Quote(t.text)
}

// symbols are the operators and punctuation. A symbol precedes its own prefixes, so that
// symbolAt finds the longest symbol.
var symbols = [...]string{"===", "==", "=", "!=", "!~", "~", "<=", "<", ">=", ">", "(", ")", ",", "&&", "||", "!"}

func symbolAt(s string) string {
	for _, symbol := range symbols {
		if strings.HasPrefix(s, symbol) {
			return symbol
		}
	}
	return ""
}

// lexer splits a condition into tokens.
type lexer struct {
	text string
	at   int
}

func (l *lexer) next() (token, *problem) {
	for l.at < len(l.text) && isSpace(l.text[l.at]) {
		l.at++
	}
	t := token{at: l.at}
	if l.at == len(l.text) {
		return t, nil
	}
	if c := l.text[l.at]; c == '"' || c == '\'' {
		return l.quoted(c)
	}
	t.kind, t.text = symbolToken, symbolAt(l.text[l.at:])
	if t.text == "" {
		t.kind, t.text = wordToken, l.text[l.at:l.wordEnd()]
	}
	l.at += len(t.text)
	return t, nil
}

func (l *lexer) wordEnd() int {
	end := l.at + 1
	for end < len(l.text) && !isSpace(l.text[end]) && l.text[end] != '"' && symbolAt(l.text[end:]) == "" {
		end++
	}
	return end
}

// quoted reads a text in quotes, in which a backslash escapes quotes and backslashes.
func (l *lexer) quoted(quote byte) (token, *problem) {
	t := token{kind: quotedToken, at: l.at}
	var text []byte
	for i := l.at + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == quote:
			t.text, l.at = string(text), i+1
			return t, nil
		case c == '\\' && i+1 < len(l.text):
			i++
			text = append(text, l.text[i])
		default:
			text = append(text, c)
		}
	}
	return t, &problem{at: l.at, message: "the quote is not closed; expected " + string(rune(quote)) + " at the end of the text"}
}

// problem is an error at a position of a condition.
type problem struct {
	at      int
	message string
}
