package kubewatch

import (
	"bytes"

	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// maxDocument is the maximum size of one document, in bytes (rule P5).
const maxDocument = 16 << 20

// maxReusedRest is the largest buffer that a splitter reuses, in bytes.
const maxReusedRest = 1 << 20

// splitter splits the body of a watch into documents (rule P2).
//
// Kubernetes ends each document with a line feed and writes no other line feeds. The
// receiver of a document validates it, so the splitter first passes each line as a
// document. If the receiver rejects a line as incomplete, the splitter counts brackets
// and quotes from then on. A document that the receiver rejects after that is invalid.
type splitter struct {
	rest    []byte // the start of an incomplete document
	careful bool
	span    objectjson.Span
	scanned int // bytes of rest that span has scanned
}

// feed parses the next piece of the body. The function take must not retain the document.
// If careful is false, take returns errNotPlain for a line that may not be a whole
// document.
func (s *splitter) feed(piece []byte, take func(document []byte, careful bool) error) error {
	for !s.careful {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			return s.keep(piece)
		}
		line := piece[:end]
		if len(s.rest) > 0 {
			s.rest = append(s.rest, line...)
			line = s.rest
		}
		if blanks(line) < len(line) {
			if err := take(line, false); err == errNotPlain {
				s.careful = true
				if len(s.rest) == 0 {
					s.rest = append(s.rest, line...)
				}
				piece = piece[end:]
				break
			} else if err != nil {
				return err
			}
		}
		s.forget(len(s.rest))
		piece = piece[end+1:]
	}
	if err := s.keep(piece); err != nil {
		return err
	}
	return s.count(take)
}

// count finds documents by matching brackets and passes each to take.
func (s *splitter) count(take func([]byte, bool) error) error {
	done := 0
	for {
		if s.scanned == done {
			done += blanks(s.rest[done:])
			if s.scanned = done; done == len(s.rest) {
				break
			}
			if s.rest[done] != '{' {
				return broken("expected an event, found " + lite.Quote(string(s.rest[done:done+1])))
			}
		}
		end, complete := s.span.Find(s.rest, s.scanned)
		s.scanned = end
		if !complete {
			break
		}
		if err := take(s.rest[done:end], true); err != nil {
			return err
		}
		done = end
	}
	s.scanned -= done
	s.forget(done)
	return nil
}

// errNotPlain reports that a line is not a complete document.
var errNotPlain = broken("not an event on a line of its own")

func (s *splitter) keep(piece []byte) error {
	if len(s.rest)+len(piece) > maxDocument {
		return broken("one object of more than 16 MiB")
	}
	s.rest = append(s.rest, piece...)
	return nil
}

func (s *splitter) forget(n int) {
	if n == len(s.rest) && cap(s.rest) > maxReusedRest {
		s.rest = nil
		return
	}
	s.rest = s.rest[:copy(s.rest, s.rest[n:])]
}

// end reports whether no incomplete document remains.
func (s *splitter) end() bool { return blanks(s.rest) == len(s.rest) }

// blanks returns the number of leading whitespace bytes.
//
//go:noinline
func blanks(b []byte) int {
	n := 0
	for n < len(b) && isBlank(b[n]) {
		n++
	}
	return n
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
