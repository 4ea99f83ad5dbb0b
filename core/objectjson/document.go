package objectjson

import (
	"bytes"
	"math"

	"github.com/watchglass/watchglass/core/internal/lite"
)

// Document is a validated JSON value, for documents that are read without a schema, such
// as a Status or a bookmark. A nil Document represents a missing value. A Document
// aliases the JSON that it was parsed from.
type Document []byte

// ParseDocument validates one value, which may have whitespace around it. The error is a
// [*SyntaxError].
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

// Member returns the value at a path of member names, or nil. If several members have the
// same name, Member uses the last one.
//
//go:noinline
func (d Document) Member(names ...string) Document {
	for _, name := range names {
		var found [1]Document
		d.Pick(found[:], name)
		d = found[0]
	}
	return d
}

// Elements returns the elements of an array, and none for other values.
func (d Document) Elements() []Document {
	var all []Document
	d.each(func(element Document) { all = append(all, element) })
	return all
}

// Text returns the text of a string, and "" for other values.
func (d Document) Text() string {
	quoted, ok := stringContent(d)
	if !ok {
		return ""
	}
	return string(appendText(nil, quoted))
}

// Is reports whether the value is a string with the given text.
func (d Document) Is(text string) bool {
	quoted, ok := stringContent(d)
	return ok && sameText(quoted, text)
}

// AppendText appends the text of a string, number or bool, and nothing for other
// values.
func (d Document) AppendText(dst []byte) []byte {
	switch at(d, 0) {
	case 0, '{', '[', 'n':
		return dst
	case '"':
		quoted, _ := stringContent(d)
		return appendText(dst, quoted)
	}
	return append(dst, d...)
}

// Date returns an RFC 3339 timestamp as milliseconds since the epoch, and false for other
// values.
func (d Document) Date() (millis int64, ok bool) {
	quoted, ok := stringContent(d)
	if !ok {
		return 0, false
	}
	return ParseDate(quoted)
}

// IsNull reports whether the value is missing or null.
func (d Document) IsNull() bool { return len(d) == 0 || d[0] == 'n' }

// Members calls visit for each member of an object, in document order. The argument name
// of visit is the member's name in quotes. Members does nothing for other values.
func (d Document) Members(visit func(name, value Document)) {
	if at(d, 0) != '{' {
		return
	}
	i, more := open(d, 0, '}')
	for more {
		nameEnd, value, f := member(d, i)
		if f != sound {
			return
		}
		end, f := skipUnchecked(d, value, 1)
		if f != sound {
			return
		}
		visit(d[i:nameEnd], d[value:end])
		if i, more, f = next(d, end, '}'); f != sound {
			return
		}
	}
}

// Pick sets picked[i] to the value of the member named names[i], or to nil. It reads the
// object once. If several members have the same name, Pick uses the last one.
func (d Document) Pick(picked []Document, names ...string) {
	for i := range picked {
		picked[i] = nil
	}
	d.Members(func(name, value Document) {
		quoted := name[1 : len(name)-1]
		plain := isPlain(quoted)
		for i := range names {
			if plain && string(quoted) == names[i] || !plain && sameEscaped(quoted, names[i]) {
				picked[i] = value
			}
		}
	})
}

// Len returns the number of members of an object or of elements of an array, and
// zero for other values.
func (d Document) Len() int {
	n := 0
	if at(d, 0) == '{' {
		d.Members(func(Document, Document) { n++ })
		return n
	}
	d.each(func(Document) { n++ })
	return n
}

// each calls visit for each element of an array.
func (d Document) each(visit func(Document)) {
	if at(d, 0) != '[' {
		return
	}
	i, more := open(d, 0, ']')
	for more {
		end, f := skipUnchecked(d, i, 1)
		if f != sound {
			return
		}
		visit(d[i:end])
		if i, more, f = next(d, end, ']'); f != sound {
			return
		}
	}
}

// Int returns the value if it is an integer from 0 to 2^31-1, the range of integers in
// frames. It returns zero for any other value.
func (d Document) Int() int {
	n, ok := lite.ParseInt(string(d))
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// True reports whether the value is true.
func (d Document) True() bool { return string(d) == "true" }

// Event returns the type and the object of a watch event (rule P2). The object aliases
// raw. The error is a [*SyntaxError].
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

// Kubernetes begins each event with eventHead, one of eventTypes, and eventMiddle. The
// JSON of the object follows.
var (
	eventTypes  = [...]string{"MODIFIED", "ADDED", "DELETED", "BOOKMARK", "ERROR"}
	eventHead   = []byte(`{"type":"`)
	eventMiddle = []byte(`","object":`)
)

// PlainEvent is a faster version of Event for the exact form that Kubernetes writes. It
// returns false for other forms. It does not validate the object. To get the error for an
// invalid object, call Event.
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
