package selector

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// SyntaxError says why a selector's text was refused, and where.
type SyntaxError struct {
	// Text is the whole selector.
	Text string
	// Offset is the byte of Text where the problem starts; len(Text) is its end.
	Offset int
	// Message is what was expected and what was found.
	Message string

	language string // "label selector" or "field selector"
}

// Error is one line, such as
//
//	label selector "a in b": at offset 5: expected "(" after in, found "b"
func (e *SyntaxError) Error() string {
	return e.language + " " + quote(e.Text) + ": at offset " + strconv.Itoa(e.Offset) + ": " + e.Message
}

// Status is the error as a 400, the answer to the request that carried the
// selector.
func (e *SyntaxError) Status() *api.Status { return api.BadRequest(e.Error()) }

// maxQuoted bounds what an error repeats of its input: selectors come from
// strangers and may be megabytes.
const maxQuoted = 200

func quote(s string) string {
	if len(s) > maxQuoted {
		return api.Quote(s[:maxQuoted]) + "..."
	}
	return api.Quote(s)
}
