package objectjson

import "math/bits"

// Span finds the end of a JSON value whose bytes may arrive in pieces. It considers only
// quotes and brackets and does not validate the value. The zero Span expects the start of
// a value.
type Span struct {
	depth   int
	quoted  bool
	escaped bool // the previous byte is a backslash that is not itself escaped
}

// Find continues at b[i], which is initially the first byte of the value. It returns the
// offset after the value and true, or len(b) and false if the value is incomplete. Find
// detects the end of a number or a word at the byte that follows it. After Find returns
// true, the Span expects the next value.
func (s *Span) Find(b []byte, i int) (end int, complete bool) {
	for i < len(b) {
		if s.depth > 0 {
			var complete bool
			if i, complete = s.words(b, i); complete {
				*s = Span{}
				return i, true
			}
		}
		for stop := min(i+8, len(b)); i < stop; i++ {
			switch s.step(b[i]) {
			case endsBefore:
				*s = Span{}
				return i, true
			case endsBehind:
				*s = Span{}
				return i + 1, true
			}
		}
	}
	return i, false
}

type ending uint8

const (
	unfinished ending = iota
	endsBefore
	endsBehind
)

// step processes one byte.
func (s *Span) step(c byte) ending {
	escaped := s.escaped
	s.escaped = c == '\\' && !escaped
	if c == '"' && escaped {
		return unfinished
	}
	if s.quoted {
		if c == '"' {
			if s.quoted = false; s.depth == 0 {
				return endsBehind
			}
		}
		return unfinished
	}
	switch c {
	case '"':
		s.quoted = true
	case '{', '[':
		s.depth++
	case '}', ']':
		if s.depth == 0 {
			return endsBefore
		}
		if s.depth--; s.depth == 0 {
			return endsBehind
		}
	case ',', ':', ' ', '\n', '\t', '\r':
		if s.depth == 0 {
			return endsBefore
		}
	}
	return unfinished
}

// words processes sixteen bytes at a time, until the value ends or fewer than sixteen
// bytes remain. Most unselected bytes of a document are processed here, so the loop has
// no branch per byte and few per block. Go compiles each branch in a WebAssembly module
// to a jump through a table.
//
// In the shipped module, vector instructions replace this function (see package strip).
// The replacement depends on the fields of a Span and on this signature, and must be
// changed with them. Tests run both versions of this function.
//
//go:noinline
func (s *Span) words(b []byte, i int) (end int, complete bool) {
	depth, quoted, escaped := s.depth, uint64(0), uint64(0)
	if s.quoted {
		quoted = highs
	}
	if s.escaped {
		escaped = 0x80
	}
	for ; len(b)-i >= 16; i += 16 {
		x, y := word(b[i:]), word(b[i+8:])
		ascii, ascii2 := ^x&highs, ^y&highs
		x, y = x&^highs, y&^highs
		backslash, backslash2 := same(x, '\\')&ascii, same(y, '\\')&ascii2
		behind := backslash<<8 | escaped
		behind2 := backslash2<<8 | backslash>>56
		if backslash&behind|backslash2&behind2 != 0 { // of two consecutive backslashes, the second does not start an escape
			behind, escaped = escapes(backslash, escaped)
			behind2, escaped = escapes(backslash2, escaped)
		} else {
			escaped = backslash2 >> 56
		}
		inside := inString(same(x, '"')&ascii&^behind, quoted)
		inside2 := inString(same(y, '"')&ascii2&^behind2, carried(inside))
		quoted = carried(inside2)
		ascii, ascii2 = ascii&^inside, ascii2&^inside2
		x, y = x|ones*' ', y|ones*' ' // turns brackets into braces; no other byte becomes a brace
		opening, opening2 := same(x, '{')&ascii, same(y, '{')&ascii2
		closing, closing2 := same(x, '}')&ascii, same(y, '}')&ascii2
		if less := bits.OnesCount64(closing>>1 | closing2); less < depth {
			depth += bits.OnesCount64(opening>>1|opening2) - less
			continue
		}
		var at int
		if depth, at = closes(opening, closing, depth); depth == 0 {
			return i + at + 1, true
		}
		if depth, at = closes(opening2, closing2, depth); depth == 0 {
			return i + 8 + at + 1, true
		}
	}
	s.depth, s.quoted, s.escaped = depth, quoted != 0, escaped != 0
	return i, false
}

// same sets the highest bit of each byte that equals c. The highest bit must be
// clear in all input bytes. Other bits of the result are undefined.
func same(x uint64, c byte) uint64 { return ^((x ^ ones*uint64(c)) + ^uint64(highs)) }

// inString marks the bytes of a word that are inside a string, by the parity of the
// quotes up to each byte. Every byte of the argument "quoted" contains the parity of the
// previous words.
func inString(quotes, quoted uint64) uint64 { return quotes>>7*ones<<7&highs ^ quoted }

// carried copies the parity of the last byte of a word to every byte.
func carried(inside uint64) uint64 { return uint64(int64(inside)>>63) & highs }

// closes returns the depth after the brackets of a word. If a bracket reaches depth zero,
// closes returns zero and the index of that bracket.
func closes(opening, closing uint64, depth int) (left, at int) {
	for both := opening | closing; both != 0; both &= both - 1 {
		if depth++; both&-both&closing != 0 {
			depth -= 2
		}
		if depth == 0 {
			return 0, firstMark(both)
		}
	}
	return depth, 0
}

// escapes marks the bytes after an unescaped backslash. The argument "first" marks the
// first byte if the previous word escapes it. The result "next" does the same for the
// next word.
func escapes(backslash, first uint64) (behind, next uint64) {
	behind = first
	for rest := backslash &^ first; rest != 0; rest &= rest - 1 {
		if at := rest & -rest; at&behind == 0 {
			behind |= at << 8
			next = at >> 56
		}
	}
	return behind, next
}
