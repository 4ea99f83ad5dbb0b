package objectjson

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// SyntaxError reports where and why bytes are not a valid object.
type SyntaxError struct {
	Offset  int    // offset of the invalid byte
	Path    string // path of the enclosing member or element; empty for the document
	Message string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	where := ""
	if e.Path != "" {
		where = " (" + e.Path + ")"
	}
	return "object JSON, offset " + strconv.Itoa(e.Offset) + where + ": " + e.Message
}

// Status returns the error as a 400 for the sender of the object.
func (e *SyntaxError) Status() *api.Status { return api.BadRequest(e.Error()) }

var faultMessages = [...]string{
	wantObject:         "expected an object",
	wantValue:          "expected a value",
	wantName:           "expected a member name in quotes",
	wantColon:          `expected ":" after the member name`,
	wantCommaOrBrace:   `expected "," or "}"`,
	wantCommaOrBracket: `expected "," or "]"`,
	wantEscape:         `expected one of "\/bfnrtu after the backslash`,
	wantHexDigit:       `expected four hexadecimal digits after \u`,
	wantPrintable:      "control character in a string",
	wantDigit:          "expected a digit",
	wantEnd:            "expected nothing after the object",
	tooDeep:            "nested deeper than " + maxDepthText + " levels",
}

const maxDepthText = "256"

// syntaxError returns the error for a fault at an offset.
func syntaxError(b []byte, offset int, f fault) *SyntaxError {
	message := faultMessages[f]
	switch {
	case offset >= len(b):
		message = "unexpected end: " + endMessage(f)
	case f != tooDeep && f != wantPrintable:
		found, _ := utf8.DecodeRune(b[offset:])
		message += ", found " + "'" + string(found) + "'"
	}
	return &SyntaxError{Offset: offset, Path: pathAt(b, offset), Message: message}
}

func endMessage(f fault) string {
	if f == wantPrintable {
		return "unfinished string"
	}
	return faultMessages[f]
}

// pathAt returns the path of the value at an offset. The hot path does not track
// paths, so pathAt walks the well-formed bytes before the offset again.
func pathAt(b []byte, offset int) string {
	var levels []level
	b = b[:min(offset, len(b))]
	for i := 0; i < len(b); {
		switch b[i] {
		case '{', '[':
			levels = append(levels, level{array: b[i] == '['})
		case '}', ']':
			levels = levels[:len(levels)-1]
		case ',':
			levels[len(levels)-1].next()
		case '"':
			end, f := skipString(b, i)
			if f != sound {
				return joinLevels(levels)
			}
			if len(levels) > 0 {
				levels[len(levels)-1].read(b[i+1 : end-1])
			}
			i = end
			continue
		}
		i++
	}
	return joinLevels(levels)
}

// level is one container around an offset, with the position of the offset inside the
// container.
type level struct {
	array bool
	index int
	named bool
	name  string
}

func (l *level) next() {
	l.index++
	l.named, l.name = false, ""
}

// read processes a string in the container. In an object, the first string after a brace
// or a comma is the name of a member.
func (l *level) read(quoted []byte) {
	if !l.array && !l.named {
		l.named, l.name = true, string(appendText(nil, quoted))
	}
}

func joinLevels(levels []level) string {
	var b strings.Builder
	for _, l := range levels {
		switch {
		case l.array:
			b.WriteString("[" + strconv.Itoa(l.index) + "]")
		case !l.named:
		case l.name == "" || lite.HasAny(l.name, `.[]'"\ `):
			b.WriteString("[" + lite.Quote(l.name) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(l.name)
		}
	}
	return b.String()
}
