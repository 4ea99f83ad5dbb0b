package selector

import "strings"

// token is a token of a label selector: a word, an operator or punctuation ("=",
// "==", "!=", "!", "(", ")", ",", ">", "<"), or the end with an empty text.
//
// Keywords are words: `in` is an operator only where the grammar expects one, and
// a valid key or value elsewhere (LS3).
type token struct {
	text string
	at   int // byte offset
	word bool
}

func (t token) is(special string) bool { return !t.word && t.text == special }
func (t token) isEnd() bool            { return t.text == "" }

// String returns the token as it appears in error messages.
func (t token) String() string {
	if t.isEnd() {
		return "the end"
	}
	return quote(t.text)
}

// lexer splits a label selector into tokens.
//
// As in Kubernetes (LS3), a NUL byte directly after a token ends the token and is
// skipped; any other NUL byte ends the text.
type lexer struct {
	text string
	at   int
}

func (l *lexer) next() token {
	for l.at < len(l.text) && isSpace(l.text[l.at]) {
		l.at++
	}
	t := token{at: l.at}
	rest := l.text[l.at:]
	if rest == "" || rest[0] == 0 {
		return t
	}
	t.word = !isSpecial(rest[0])
	t.text = rest[:tokenLength(rest)]
	l.at += len(t.text)
	if l.at < len(l.text) && l.text[l.at] == 0 {
		l.at++
	}
	return t
}

// tokenLength returns the length of the first token of s, which must not be
// empty.
func tokenLength(s string) int {
	if isSpecial(s[0]) {
		if strings.HasPrefix(s, "==") || strings.HasPrefix(s, "!=") {
			return 2
		}
		return 1
	}
	n := 1
	for n < len(s) && !isSpace(s[n]) && !isSpecial(s[n]) && s[n] != 0 {
		n++
	}
	return n
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isSpecial(c byte) bool {
	switch c {
	case '=', '!', '(', ')', ',', '>', '<':
		return true
	}
	return false
}
