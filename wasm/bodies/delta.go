//go:build !wasip1

package bodies

import (
	"encoding/binary"
	"math/bits"

	"github.com/watchglass/watchglass/core/api"
)

const (
	deltaGram  = 6 // bytes; what is found by less is mostly found in the wrong place
	deltaChain = 8 // places of a gram that are looked at
	// maxDelta is the size of body beyond which there are no differences:
	// objects that large are few, and their copies take twice the bytes.
	maxDelta = 256 << 10
	// The tables of grams have a size of their own each, by how much is in them.
	sharedBits, baseBits, ownBits = 16, 12, 10
)

// DeltaEncoder makes bodies of codec Delta for the objects of one resource. It
// keeps scratch memory between calls, a few times the size of the largest body,
// and belongs to one goroutine.
type DeltaEncoder struct {
	shared   int     // length of the dictionary's content, where the base begins
	places   []int32 // of the dictionary's grams, plus one
	text     []byte  // dictionary, base and target, and some zeros
	base     int     // where the target begins
	end      int     // and ends
	indexed  bool
	inBase   [1 << baseBits]int32
	chain    []int32 // the place before, by place in the base
	inTarget [1 << ownBits]int32

	offset int // of the last copy
	shift  int // of the last copy out of the base, where it goes on
}

// NewDeltaEncoder makes an encoder for differences that may also refer to the
// dictionary, nil for none. The dictionary must be one of [TrainDictionary];
// anything else is a 400 *api.Status.
func NewDeltaEncoder(dictionary []byte) (*DeltaEncoder, error) {
	e := &DeltaEncoder{}
	if len(dictionary) == 0 {
		return e, nil
	}
	content, _, ok := splitDictionary(dictionary)
	if !ok {
		return nil, notADictionary()
	}
	e.shared, e.text = len(content), append(e.text, content...)
	e.places = make([]int32, 1<<sharedBits)
	for i := 0; i+8 <= len(content); i++ {
		e.places[gramAt(content, i, sharedBits)] = int32(i + 1) // the last is the nearest
	}
	return e, nil
}

// Encode appends the difference from base to json, both plain, to dst; the
// body's data is the part that was appended. It reports false, and appends
// nothing, when the difference takes more than limit bytes, and for bodies of
// more than 256 KiB.
func (e *DeltaEncoder) Encode(dst, base, json []byte, limit int) (body api.Body, ok bool) {
	if len(base) > maxDelta || len(json) > maxDelta {
		return api.Body{}, false
	}
	e.load(base, json)
	start := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(json)))
	literal := e.base
	for i := e.base; i < e.end; {
		m := e.find(i)
		if m.n == 0 {
			e.learn(i)
			i++
		} else {
			m = e.extendBack(m, literal)
			dst = appendLiteral(dst, e.text[literal:m.at])
			dst = e.appendCopy(dst, m)
			i = m.at + m.n
			literal = i
		}
		if len(dst)-start+i-literal > limit {
			return api.Body{}, false
		}
	}
	dst = appendLiteral(dst, e.text[literal:e.end])
	if len(dst)-start > limit {
		return api.Body{}, false
	}
	return api.Body{Codec: api.Delta, Data: dst[start:]}, true
}

func (e *DeltaEncoder) load(base, json []byte) {
	e.text = append(append(append(e.text[:e.shared], base...), json...), 0, 0, 0, 0, 0, 0, 0, 0)
	e.base = e.shared + len(base)
	e.end = e.base + len(json)
	e.offset, e.shift, e.indexed = len(base), len(base), false
}

// match is n bytes at one place that are found at another.
type match struct{ at, from, n int }

func (e *DeltaEncoder) find(i int) match {
	if m := e.aligned(i); m.n > 0 {
		return m
	}
	if i+deltaGram > e.end {
		return match{}
	}
	if !e.indexed {
		e.index()
	}
	m := e.search(i)
	if m.n == 0 {
		return m
	}
	// A better one that begins a byte later is worth a byte.
	if i+1+deltaGram <= e.end {
		if later := e.aligned(i + 1); later.n > m.n+1 {
			return match{}
		}
		if later := e.search(i + 1); e.gain(later) > e.gain(m)+1 {
			return match{}
		}
	}
	return m
}

// aligned looks where the last copies would go on: a value that is replaced by
// another of the same length leaves everything behind it in step.
func (e *DeltaEncoder) aligned(i int) match {
	if from := i - e.shift; e.isInBase(from) {
		if n := e.length(from, i); n > goOnLeast {
			return match{i, from, n}
		}
	}
	if n := e.length(i-e.offset, i); n >= 4 {
		return match{i, i - e.offset, n}
	}
	return match{}
}

func (e *DeltaEncoder) isInBase(from int) bool { return from >= e.shared && from < e.base }

// search looks for what saves most.
func (e *DeltaEncoder) search(i int) (best match) {
	try := func(from int) {
		if n := e.length(from, i); n >= deltaGram {
			if m := (match{i, from, n}); best.n == 0 || e.gain(m) > e.gain(best) {
				best = m
			}
		}
	}
	place := e.inBase[gramAt(e.text, i, baseBits)]
	for range deltaChain {
		if place == 0 {
			break
		}
		try(e.shared + int(place) - 1)
		place = e.chain[place-1]
	}
	if place = e.inTarget[gramAt(e.text, i, ownBits)]; place != 0 {
		try(e.base + int(place) - 1)
	}
	if e.places != nil {
		if place = e.places[gramAt(e.text, i, sharedBits)]; place != 0 {
			try(int(place) - 1)
		}
	}
	return best
}

// gain is about how many bytes a match saves.
func (e *DeltaEncoder) gain(m match) int {
	switch offset := m.at - m.from; {
	case offset < 1<<11:
		return m.n - 2
	case offset < 1<<16:
		return m.n - 3
	}
	return m.n - 5
}

// length is how many bytes at from are those at i. No copy goes over the end of
// the dictionary or of the base.
func (e *DeltaEncoder) length(from, i int) int {
	if from < 0 || from >= i {
		return 0
	}
	a, b := e.text[from:e.end], e.text[i:e.end]
	switch {
	case from < e.shared:
		a = e.text[from:e.shared]
	case from < e.base:
		a = e.text[from:e.base]
	}
	most := min(len(a), len(b))
	n := 0
	for ; n+8 <= most; n += 8 {
		if d := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); d != 0 {
			return n + bits.TrailingZeros64(d)>>3
		}
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

func (e *DeltaEncoder) extendBack(m match, literal int) match {
	for m.at > literal && m.from > 0 && m.from != e.shared && m.from != e.base && e.text[m.at-1] == e.text[m.from-1] {
		m.at, m.from, m.n = m.at-1, m.from-1, m.n+1
	}
	return m
}

// index notes where the grams of the base are, the first place first.
func (e *DeltaEncoder) index() {
	e.indexed = true
	clear(e.inBase[:])
	clear(e.inTarget[:])
	size := e.base - e.shared
	if cap(e.chain) < size {
		e.chain = make([]int32, size)
	}
	e.chain = e.chain[:size]
	for i := size - deltaGram; i >= 0; i-- {
		slot := &e.inBase[gramAt(e.text, e.shared+i, baseBits)]
		e.chain[i], *slot = *slot, int32(i+1)
	}
}

// learn notes a gram of the target that was not found elsewhere.
func (e *DeltaEncoder) learn(i int) {
	if e.indexed {
		e.inTarget[gramAt(e.text, i, ownBits)] = int32(i - e.base + 1)
	}
}

func gramAt(text []byte, i int, tableBits uint) uint64 {
	return binary.LittleEndian.Uint64(text[i:]) << 16 * 0x9E3779B185EBCA87 >> (64 - tableBits)
}

func appendLiteral(dst, literal []byte) []byte {
	n := len(literal) - 1
	switch {
	case n < 0:
		return dst
	case n < 60:
		dst = append(dst, byte(n)<<2)
	case n < 1<<8:
		dst = append(dst, 60<<2, byte(n))
	case n < 1<<16:
		dst = append(dst, 61<<2, byte(n), byte(n>>8))
	default:
		dst = append(dst, 62<<2, byte(n), byte(n>>8), byte(n>>16))
	}
	return append(dst, literal...)
}

// appendCopy writes a copy: as much as goes with the offset, and the rest as what
// goes on in the base, or as a repetition of the offset, which has at least four
// bytes.
func (e *DeltaEncoder) appendCopy(dst []byte, m match) []byte {
	n, offset := m.n, m.at-m.from
	known, least := e.offset, 4
	if e.isInBase(m.from) {
		known, least = e.shift, goOnLeast
		e.shift = offset
	}
	if e.offset = offset; offset != known {
		first := min(n, longestCopy(offset))
		if rest := n - first; rest > 0 && rest < least {
			first = n - least
		}
		dst = appendOffset(dst, first, offset)
		n -= first
	}
	if least == goOnLeast {
		return appendGoOn(dst, n)
	}
	return appendRepeat(dst, n)
}

// longestCopy is how much goes with an offset.
func longestCopy(offset int) int {
	switch {
	case offset < 1<<11:
		return 11
	case offset < 1<<16:
		return 64
	}
	return 256
}

func appendOffset(dst []byte, n, offset int) []byte {
	switch {
	case offset < 1<<11:
		return append(dst, byte(offset>>8)<<5|byte(n-4)<<2|1, byte(offset))
	case offset < 1<<16:
		return append(dst, byte(n-1)<<2|2, byte(offset), byte(offset>>8))
	}
	return append(dst, farCopy<<2|3, byte(n-1), byte(offset), byte(offset>>8), byte(offset>>16))
}

func appendGoOn(dst []byte, n int) []byte {
	n -= goOnLeast
	switch {
	case n < 0:
		return dst
	case n < goOnShort:
		return append(dst, byte(n)<<2|3)
	}
	n -= goOnShort
	switch {
	case n < 1<<8:
		return append(dst, goOnShort<<2|3, byte(n))
	case n < 1<<16:
		return append(dst, (goOnShort+1)<<2|3, byte(n), byte(n>>8))
	}
	return append(dst, (goOnShort+2)<<2|3, byte(n), byte(n>>8), byte(n>>16))
}

func appendRepeat(dst []byte, n int) []byte {
	switch {
	case n == 0:
		return dst
	case n <= 8:
		return append(dst, byte(n-4)<<2|1, 0)
	case n < 260:
		return append(dst, 5<<2|1, 0, byte(n-8))
	case n < 65540:
		return append(dst, 6<<2|1, 0, byte(n-260), byte((n-260)>>8))
	}
	return append(dst, 7<<2|1, 0, byte(n-65540), byte((n-65540)>>8), byte((n-65540)>>16))
}
