package envelope

import (
	"bytes"
	"math"

	"github.com/watchglass/watchglass/core/api"
)

// Document is a JSON value that has been checked, for the few that are read
// without a schema: a Status, a bookmark, the head of a list. A nil Document is
// what is missing. It aliases the bytes it was made from.
type Document []byte

// ParseDocument checks one value with nothing but blanks around it. The error is
// a [*SyntaxError].
func ParseDocument(raw []byte) (Document, error) {
	start := skipSpace(raw, 0)
	end, f := skipValue(raw, start, 0)
	if f == sound && skipSpace(raw, end) < len(raw) {
		end, f = skipSpace(raw, end), wantEnd
	}
	if f != sound {
		return nil, syntaxError(raw, end, f)
	}
	return raw[start:end], nil
}

// Member goes down by member names; of several with one name the last counts.
func (d Document) Member(names ...string) Document {
	for _, name := range names {
		d = Member(d, name)
	}
	return d
}

// Elements are those of an array; anything else has none.
func (d Document) Elements() []Document {
	if at(d, 0) != '[' {
		return nil
	}
	var all []Document
	i, more := open(d, 0, ']')
	for more {
		end, _ := skipValue(d, i, 0)
		all = append(all, d[i:end])
		i, more, _ = next(d, end, ']')
	}
	return all
}

// Text is that of a string, and empty for anything else.
func (d Document) Text() string {
	quoted, ok := stringContent(d)
	if !ok {
		return ""
	}
	return string(appendText(nil, quoted))
}

// Int is a whole number from zero on that fits 31 bits, and zero for anything
// else: what frames have room for.
func (d Document) Int() int {
	n, ok := api.ParseInt(string(d))
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// True reports whether it is that word.
func (d Document) True() bool { return string(d) == "true" }

// Event takes an event of a watch apart (rule P2). The object aliases raw. The
// error is a [*SyntaxError].
func Event(raw []byte) (kind string, object Document, err error) {
	d, err := ParseDocument(raw)
	if err != nil {
		return "", nil, err
	}
	if d[0] != '{' {
		return "", nil, syntaxError(raw, skipSpace(raw, 0), wantObject)
	}
	return d.Member("type").Text(), d.Member("object"), nil
}

// What Kubernetes writes before the object of an event, whose type is one of
// these words. Behind it there is a brace.
var (
	eventTypes  = [...]string{"MODIFIED", "ADDED", "DELETED", "BOOKMARK", "ERROR"}
	eventHead   = []byte(`{"type":"`)
	eventMiddle = []byte(`","object":`)
)

// PlainEvent is Event for the form that Kubernetes writes, without a look at the
// object: if that turns out not to be one, Event says what there really is.
func PlainEvent(raw []byte) (kind string, object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(raw, eventHead)
	if !ok || raw[len(raw)-1] != '}' {
		return "", nil, false
	}
	for _, word := range eventTypes {
		if len(rest) > len(word) && string(rest[:len(word)]) == word {
			object, ok := bytes.CutPrefix(rest[len(word):], eventMiddle)
			if !ok {
				return "", nil, false
			}
			return word, object[:len(object)-1], true
		}
	}
	return "", nil, false
}
