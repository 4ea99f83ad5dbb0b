package coretest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// verb is one parsed verb line. A handler takes the words one by one and calls done
// before it acts. done returns an error if a word is missing, invalid or unused.
type verb struct {
	line  int
	name  string
	words []string
	block []blockLine
	// options are the names of the options that the handler accepts, for error messages.
	options []string
	err     error
}

// blockLine is an indented line under a verb.
type blockLine struct {
	line int
	text string
}

func newVerb(line int, text string) (*verb, error) {
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	return &verb{line: line, name: words[0], words: words[1:]}, nil
}

// clone returns a copy of the verb with all words, because each run removes the words
// that it reads.
func (v *verb) clone() *verb {
	c := *v
	c.words = slices.Clone(v.words)
	return &c
}

// split splits a line at spaces, but not inside double quotes. It removes the quotes
// around a word or an option's value, and keeps other quotes, such as those of a body.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, started := false, false
	before := ' '
	for _, c := range text {
		switch {
		case c == '"' && (quoted || before == ' ' || before == '='):
			quoted, started = !quoted, true
		case c == ' ' && !quoted:
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(c)
			started = true
		}
		before = c
	}
	if quoted {
		return nil, fmt.Errorf("a double quote is not closed")
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

// take removes and returns the next word that is not an option. If there is no such word,
// take records an error with the given description.
func (v *verb) take(what string) string {
	for i, w := range v.words {
		if !strings.Contains(w, "=") {
			v.words = slices.Delete(v.words, i, i+1)
			return w
		}
	}
	v.fail("%s needs %s", v.name, what)
	return ""
}

// takeNumber returns the next word as a number.
func (v *verb) takeNumber(what string) uint32 { return uint32(v.number(what, v.take(what))) }

// takeDuration returns the next word, such as 1.5s or -1h, in milliseconds.
func (v *verb) takeDuration(what string) int64 { return v.millis(what, v.take(what)) }

// rest removes all remaining words and returns them as one text.
func (v *verb) rest() string {
	text := strings.Join(v.words, " ")
	v.words = nil
	return text
}

// option removes the word name=value and returns the value, or "" if there is no such
// word.
func (v *verb) option(name string) string {
	v.options = append(v.options, name+"=")
	for i, w := range v.words {
		if value, ok := strings.CutPrefix(w, name+"="); ok {
			v.words = slices.Delete(v.words, i, i+1)
			return value
		}
	}
	return ""
}

// flag reports whether a word is present, and removes it.
func (v *verb) flag(name string) bool {
	v.options = append(v.options, name)
	i := slices.Index(v.words, name)
	if i >= 0 {
		v.words = slices.Delete(v.words, i, i+1)
	}
	return i >= 0
}

// optionNumber returns the value of an option as a number, or zero if it is missing.
func (v *verb) optionNumber(name string) uint64 {
	if text := v.option(name); text != "" {
		return v.number(name, text)
	}
	return 0
}

// optionDuration returns the value of an option in milliseconds, or zero if it is
// missing.
func (v *verb) optionDuration(name string) int64 {
	if text := v.option(name); text != "" {
		return v.millis(name, text)
	}
	return 0
}

// oneOf returns the index of an option's value in a list of accepted values. For any
// other value, it records an error.
func (v *verb) oneOf(name string, values ...string) int {
	text := v.option(name)
	i := slices.Index(values, text)
	if i < 0 {
		v.fail("%s is %q, which is none of %s", name, text, strings.Join(values[1:], ", "))
	}
	return i
}

func (v *verb) number(what, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		v.fail("%s is %q, and should be a number", what, text)
	}
	return n
}

func (v *verb) millis(what, text string) int64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		v.fail("%s is %q, and should be a time such as 500ms, 10s or -1h", what, text)
	}
	return d.Milliseconds()
}

func (v *verb) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, args...)
	}
}

// done returns the first error, an error about unused words, or nil.
func (v *verb) done() error {
	if v.err == nil && len(v.words) > 0 {
		if len(v.options) == 0 {
			return fmt.Errorf("%s does not take %q", v.name, v.words[0])
		}
		return fmt.Errorf("%s does not take %q; its options are %s", v.name, v.words[0], strings.Join(v.options, " "))
	}
	return v.err
}
