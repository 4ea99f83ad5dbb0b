package envelope

import "math/bits"

// Span finds where a JSON value ends whose bytes may come in pieces. It looks at
// quotes and brackets alone: whether the value is sound is found out by who
// reads it. The zero Span is before a value.
type Span struct {
	depth   int
	quoted  bool
	escaped bool // the byte before was a backslash
}

// Find goes on at b[i], at first with the first byte of the value, and returns
// the offset behind the value and true, or len(b) and false when more is to
// come. A number or a word ends with the byte that follows it. The Span is then
// before the next value.
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
	goesOn ending = iota
	endsBefore
	endsBehind
)

// step takes one byte.
func (s *Span) step(c byte) ending {
	escaped := s.escaped
	s.escaped = c == '\\' && !escaped
	if c == '"' && escaped {
		return goesOn
	}
	if s.quoted {
		if c == '"' {
			if s.quoted = false; s.depth == 0 {
				return endsBehind
			}
		}
		return goesOn
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
	return goesOn
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// words takes eight bytes at a time, up to the end of the value if that is there.
// This is where most bytes of a document pass that nobody wants, so there is no
// branch for a byte: its highest bit says what it is.
func (s *Span) words(b []byte, i int) (end int, complete bool) {
	depth, quoted, escaped := s.depth, uint64(0), uint64(0)
	if s.quoted {
		quoted = highs
	}
	if s.escaped {
		escaped = 0x80
	}
	for ; len(b)-i >= 8; i += 8 {
		c := b[i : i+8 : i+8]
		x := uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 |
			uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
		quote := equal(x, '"')
		if backslash := equal(x, '\\'); backslash|escaped != 0 {
			var behind uint64
			behind, escaped = escapes(backslash, escaped)
			quote &^= behind
		}
		// Whether a byte lies in a string is the parity of the quotes up to it.
		inside := quote ^ quote<<8
		inside ^= inside << 16
		inside ^= inside << 32
		inside ^= quoted
		quoted = uint64(int64(inside)>>63) & highs
		lower := x | ones*' ' // makes a brace of a bracket, and of nothing else
		opening, closing := equal(lower, '{')&^inside, equal(lower, '}')&^inside
		if less := bits.OnesCount64(closing); less < depth {
			depth += bits.OnesCount64(opening) - less
			continue
		}
		for both := opening | closing; both != 0; both &= both - 1 {
			if depth++; both&-both&closing != 0 {
				depth -= 2
			}
			if depth == 0 {
				return i + bits.TrailingZeros64(both)/8 + 1, true
			}
		}
	}
	s.depth, s.quoted, s.escaped = depth, quoted != 0, escaped != 0
	return i, false
}

// escapes are the bytes behind a backslash that is not behind one itself; the
// first may be, and so may be the first of the next word.
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

// equal sets the highest bit of each byte that is c.
func equal(x uint64, c byte) uint64 {
	x ^= ones * uint64(c)
	return ^((x&^highs + ^uint64(highs)) | x) & highs
}

// skipUnchecked is skipValue for values that are taken on trust.
func skipUnchecked(b []byte, i, depth int) (int, fault) {
	if c := at(b, i); c != '{' && c != '[' {
		return skipValue(b, i, depth)
	}
	s := Span{depth: 1}
	end, complete := s.Find(b, i+1)
	if !complete {
		return end, wantCommaOrBrace
	}
	return end, sound
}
