//go:build !wasip1

package body

import (
	"encoding/binary"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

const (
	// minPacked is the size below which a body is stored uncompressed. Compression
	// would save nothing, and plain bytes need no decoder.
	minPacked = 64
	// maxDelta is the maximum size of a body that is encoded as a delta. Larger objects
	// are rare, and their copies take twice as many bytes.
	maxDelta = 256 << 10
)

// Encoder encodes bodies. It retains scratch memory of a few times the size of the
// largest body, and is not safe for concurrent use.
//
// Each body depends only on the dictionary, the object's JSON and, for a delta, the
// base. No data of one object enters the body of another, and the length of a body
// discloses nothing about other objects.
type Encoder struct {
	finder
}

// NewEncoder returns an encoder for bodies that refer to the dictionary. A nil dictionary
// means none. Every reader receives the dictionary, so it must not contain any bytes of
// an object. For a dictionary of more than 64 KiB, NewEncoder returns a 400 *api.Status.
func NewEncoder(dictionary []byte) (*Encoder, error) {
	if len(dictionary) > maxDictionary {
		return nil, api.BadRequest("a dictionary of " + strconv.Itoa(len(dictionary)) +
			" bytes; the limit is " + strconv.Itoa(maxDictionary))
	}
	e := &Encoder{}
	e.setDictionary(dictionary)
	return e, nil
}

// Encode appends the encoded JSON to dst. The body's data is the appended part. If
// encoding does not make the body smaller, the body stays plain JSON.
func (e *Encoder) Encode(dst, json []byte) api.Body {
	if len(json) >= minPacked && len(json) <= MaxDecoded {
		e.loadPacked(json)
		if packed, ok := e.encode(dst, len(json)-1); ok {
			return api.Body{Codec: api.Packed, Data: packed[len(dst):]}
		}
	}
	return api.Body{Codec: api.JSON, Data: append(dst, json...)[len(dst):]}
}

// EncodeDelta appends to dst the delta that converts base to json. Both are plain JSON.
// The body's data is the appended part. If the delta takes more than limit bytes, or if
// either body has more than 256 KiB, it returns false and appends nothing.
func (e *Encoder) EncodeDelta(dst, base, json []byte, limit int) (body api.Body, ok bool) {
	if len(base) > maxDelta || len(json) > maxDelta {
		return api.Body{}, false
	}
	e.loadDelta(base, json)
	encoded, ok := e.encode(dst, limit)
	if !ok {
		return api.Body{}, false
	}
	return api.Body{Codec: api.Delta, Data: encoded[len(dst):]}, true
}

// encode appends the block of the loaded text. It returns false if the block takes
// more than limit bytes.
func (e *Encoder) encode(dst []byte, limit int) ([]byte, bool) {
	start := len(dst)
	dst = binary.AppendUvarint(dst, uint64(e.end-e.target))
	literal := e.target
	for i := e.target; i < e.end; {
		m, token := e.next(i, literal)
		switch {
		case token.length > 0:
			dst = appendLiteral(dst, e.text[literal:token.at])
			dst = token.append(dst, e.text)
			i = token.at + token.length
			literal = i
		case m.n > 0:
			dst = appendLiteral(dst, e.text[literal:m.at])
			dst = e.appendCopy(dst, m)
			i = m.at + m.n
			literal = i
		default:
			e.learn(i)
			i += 1 + (i-literal)>>skipShift
		}
		if len(dst)-start+min(i, e.end)-literal > limit {
			return nil, false
		}
	}
	dst = appendLiteral(dst, e.text[literal:e.end])
	return dst, len(dst)-start <= limit
}

// next returns the next operation: a token, a copy, or neither. If next returns
// neither, the byte at i belongs to a literal.
func (e *Encoder) next(i, literal int) (match, token) {
	t := tokenAt(e.text[e.target:e.end], i-e.target)
	t.at += e.target
	m := e.find(i)
	if t.length > 0 {
		if m.n < t.length {
			for at := t.at; at < t.at+t.length; at++ {
				e.learn(at)
			}
			return match{}, t
		}
		t = token{}
	}
	if m.n > 0 {
		m = e.extendBack(m, literal)
		m.n = e.upToToken(m)
		m = e.upToGuide(m)
	}
	return m, token{}
}

// upToToken returns the length to use for a copy. A copy may end inside a text that a
// token could encode. If the token takes fewer bytes than the rest of that text, the
// copy is shortened to end before the text.
func (e *Encoder) upToToken(m match) int {
	end, n := m.at+m.n, m.n
	if end >= e.end || !isTokenByte(e.text[end]) {
		return n
	}
	for at := end - 1; at >= m.at+leastGoOn && at > end-maxTokenLookBack && isTokenByte(e.text[at]); at-- {
		if t := tokenAt(e.text[e.target:e.end], at-e.target); at+t.length-end > t.size() {
			n = at - m.at
		}
	}
	return n
}

func appendLiteral(dst, literal []byte) []byte {
	n := len(literal) - 1
	switch {
	case n < 0:
		return dst
	case n < longLiteral:
		dst = append(dst, byte(n)<<2)
	case n < 1<<8:
		dst = append(dst, longLiteral<<2, byte(n))
	case n < 1<<16:
		dst = append(dst, (longLiteral+1)<<2, byte(n), byte(n>>8))
	default:
		dst = append(dst, (longLiteral+2)<<2, byte(n), byte(n>>8), byte(n>>16))
	}
	return append(dst, literal...)
}

// appendCopy appends the operations of a copy to dst. The first operation encodes as
// much as its distance allows. The rest is a continuation in the guide or a
// repetition of the distance.
func (e *Encoder) appendCopy(dst []byte, m match) []byte {
	distance := m.at - m.from
	switch {
	case e.continues(m):
		dst = appendGoOn(dst, m.n)
	case distance == e.distance && m.n >= leastRepeat:
		dst = appendRepeat(dst, m.n)
	case e.isInGuide(m.from):
		first := firstCopy(distance, m.n, leastGoOn)
		dst = appendGoOn(appendDistance(dst, first, distance), m.n-first)
	default:
		first := firstCopy(distance, m.n, leastRepeat)
		dst = appendRepeat(appendDistance(dst, first, distance), m.n-first)
	}
	e.distance = distance
	if e.isInGuide(m.from) {
		e.guide.copied(distance, m.from-e.from, m.n)
	}
	return dst
}

// firstCopy returns how many of n bytes to encode with the distance. The rest is empty,
// or at least as long as the next operation requires.
func firstCopy(distance, n, least int) int {
	first := min(n, 256)
	switch {
	case distance < nearDistance && (n <= mostNear || n > 64):
		first = min(n, mostNear)
	case distance < 1<<16:
		first = min(n, 64)
	}
	if rest := n - first; rest > 0 && rest < least {
		first = n - least
	}
	return first
}

func appendDistance(dst []byte, n, distance int) []byte {
	switch {
	case distance < nearDistance && n >= leastNear && n <= mostNear:
		return append(dst, byte(distance>>8)<<5|byte(n-leastNear)<<2|opNear, byte(distance))
	case distance < 1<<16:
		return append(dst, byte(n-1)<<2|opCopy, byte(distance), byte(distance>>8))
	}
	return append(dst, farCopy<<2|opGoOn, byte(n-1), byte(distance), byte(distance>>8), byte(distance>>16))
}

func appendGoOn(dst []byte, n int) []byte {
	n -= leastGoOn
	switch {
	case n < 0:
		return dst
	case n < longGoOn:
		return append(dst, byte(n)<<2|opGoOn)
	}
	n -= longGoOn
	switch {
	case n < 1<<8:
		return append(dst, longGoOn<<2|opGoOn, byte(n))
	case n < 1<<16:
		return append(dst, (longGoOn+1)<<2|opGoOn, byte(n), byte(n>>8))
	}
	return append(dst, (longGoOn+2)<<2|opGoOn, byte(n), byte(n>>8), byte(n>>16))
}

func appendRepeat(dst []byte, n int) []byte {
	switch {
	case n == 0:
		return dst
	case n <= repeats[0]:
		return append(dst, byte(n-leastRepeat)<<2|opNear, 0)
	case n < repeats[1]:
		n -= repeats[0]
		return append(dst, 5<<2|opNear, 0, byte(n))
	case n < repeats[2]:
		n -= repeats[1]
		return append(dst, 6<<2|opNear, 0, byte(n), byte(n>>8))
	}
	n -= repeats[2]
	return append(dst, 7<<2|opNear, 0, byte(n), byte(n>>8), byte(n>>16))
}
