package selector

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// SyntaxError describes why and where the text of a selector is invalid.
type SyntaxError struct {
	// Text is the complete selector.
	Text string
	// Offset is the byte offset of the problem in Text. It is len(Text) for an
	// unexpected end.
	Offset int
	// Message states what was expected and what was found.
	Message string

	language string // such as "label selector"
}

// NewSyntaxError returns an error about a text in another language, such as
// "condition".
func NewSyntaxError(language, text string, offset int, message string) *SyntaxError {
	return &SyntaxError{Text: text, Offset: offset, Message: message, language: language}
}

// Error returns a line such as
//
//	label selector "a in b": at offset 5: expected "(" after in, found "b"
func (e *SyntaxError) Error() string {
	return e.language + " " + quote(e.Text) + ": at offset " + strconv.Itoa(e.Offset) + ": " + e.Message
}

// Status returns the error as a 400.
func (e *SyntaxError) Status() *api.Status { return api.BadRequest(e.Error()) }

// maxQuoted is the maximum number of input bytes that an error repeats, because clients
// may send megabytes.
const maxQuoted = 200

func quote(s string) string {
	if len(s) > maxQuoted {
		return lite.Quote(s[:maxQuoted]) + "..."
	}
	return lite.Quote(s)
}
