//go:build !wasip1

package body

import (
	"encoding/binary"
	"math/bits"
)

const (
	gram  = 6  // number of bytes that are hashed together; shorter matches rarely save space
	chain = 16 // maximum number of positions that are tried for a gram
	// longEnough is the minimum length of a copy that is used without a search for better
	// ones.
	longEnough = 64
	// skipShift controls the step over text without matches. The step grows by one byte
	// for each 256 bytes without a match.
	skipShift = 8
	// mostCut is the maximum number of bytes that upToGuide removes from the end of a
	// copy.
	mostCut = 16
	// maxDistance is the maximum distance of a far copy.
	maxDistance = 1 << 24

	dictionaryBits, baseBits, leastOwnBits, mostOwnBits = 14, 12, 10, 16
)

// finder finds copies for the text of one block.
type finder struct {
	text   []byte // dictionary, base, target, and some zeros
	base   int    // start of the base
	target int    // start of the target
	end    int    // end of the target
	from   int    // start of the guide, which ends where the target begins

	inDictionary index
	inBase       index
	indexed      bool    // inBase has been filled for the current base
	inTarget     []int32 // the last position of each gram, plus one
	ownBits      uint

	guide    guide
	distance int // of the last copy
}

// index finds the positions of grams in a text.
type index struct {
	heads []int32 // the first position of each gram, plus one
	next  []int32 // the next position of the same gram, by position
	bits  uint
}

// fill indexes the first size bytes of text. At least two more bytes must follow them.
func (x *index) fill(text []byte, size int, tableBits uint) {
	if x.heads == nil {
		x.heads, x.bits = make([]int32, 1<<tableBits), tableBits
	}
	clear(x.heads)
	if cap(x.next) < size {
		x.next = make([]int32, size)
	}
	x.next = x.next[:size]
	for i := size - gram; i >= 0; i-- {
		slot := &x.heads[gramAt(text, i, x.bits)]
		x.next[i], *slot = *slot, int32(i+1)
	}
}

// gramAt returns a hash of the gram at i. The text must contain at least eight bytes
// from i on.
func gramAt(text []byte, i int, tableBits uint) uint64 {
	return binary.LittleEndian.Uint64(text[i:]) << 16 * 0x9E3779B185EBCA87 >> (64 - tableBits)
}

var zeros [8]byte

func (f *finder) setDictionary(dictionary []byte) {
	f.text, f.base = append(f.text[:0], dictionary...), len(dictionary)
	f.text = append(f.text, zeros[:]...)
	f.inDictionary.fill(f.text, f.base, dictionaryBits)
}

// loadPacked loads a text whose guide is the dictionary.
func (f *finder) loadPacked(json []byte) {
	f.load(nil, json)
	f.from, f.guide = 0, guided(f.text[:f.base], true)
	f.distance = f.base
}

// loadDelta loads a text whose guide is a base.
func (f *finder) loadDelta(base, json []byte) {
	f.load(base, json)
	f.from, f.guide = f.base, guided(f.text[f.base:f.target], false)
	f.distance, f.indexed = len(base), false
}

func (f *finder) load(base, json []byte) {
	f.text = append(append(append(f.text[:f.base], base...), json...), zeros[:]...)
	f.target = f.base + len(base)
	f.end = f.target + len(json)
	f.ownBits = uint(min(max(bits.Len(uint(len(json))), leastOwnBits), mostOwnBits))
	if cap(f.inTarget) < 1<<f.ownBits {
		f.inTarget = make([]int32, 1<<f.ownBits)
	}
	f.inTarget = f.inTarget[:1<<f.ownBits]
	clear(f.inTarget)
}

// match is a sequence of n bytes at the position "at", which also occurs at the earlier
// position "from".
type match struct{ at, from, n int }

func (f *finder) isInGuide(from int) bool { return from >= f.from && from < f.target }

// continues reports whether a match continues the last copy from the guide.
func (f *finder) continues(m match) bool {
	return f.isInGuide(m.from) && m.at-m.from == f.guide.continuation(m.at-f.target)
}

// find returns the best copy for the text at i, or a match of length zero.
func (f *finder) find(i int) match {
	m := f.follow(i)
	if m.n >= longEnough || i+gram > f.end {
		return m
	}
	m = f.search(i, m)
	// Prefer a match that begins one byte later if it saves at least two more bytes.
	if m.n > 0 && m.n < longEnough && i+1+gram <= f.end {
		if later := f.search(i+1, f.follow(i+1)); f.gain(later) > f.gain(m)+1 {
			return match{}
		}
	}
	return m
}

// follow returns the better of two matches: the continuation in the guide, and the copy
// at the distance of the last copy.
func (f *finder) follow(i int) match {
	var best match
	if from := i - f.guide.continuation(i-f.target); f.isInGuide(from) {
		if n := f.length(from, i); n > leastGoOn {
			best = match{i, from, n}
		}
	}
	if n := f.length(i-f.distance, i); n >= leastRepeat {
		best = f.better(best, match{i, i - f.distance, n})
	}
	return best
}

// search returns the match at i that saves the most bytes, or the argument best if no
// match saves more.
func (f *finder) search(i int, best match) match {
	if !f.guide.inserts {
		if !f.indexed {
			f.inBase.fill(f.text[f.base:], f.target-f.base, baseBits)
			f.indexed = true
		}
		best = f.searchIn(&f.inBase, f.base, i, best)
	}
	if place := f.inTarget[gramAt(f.text, i, f.ownBits)]; place != 0 {
		best = f.try(f.target+int(place)-1, i, best)
	}
	return f.searchIn(&f.inDictionary, 0, i, best)
}

func (f *finder) searchIn(x *index, begin, i int, best match) match {
	place := x.heads[gramAt(f.text, i, x.bits)]
	for range chain {
		if place == 0 {
			break
		}
		best = f.try(begin+int(place)-1, i, best)
		place = x.next[place-1]
	}
	return best
}

func (f *finder) try(from, i int, best match) match {
	if f.text[from+best.n] != f.text[i+best.n] {
		return best // the match is not longer than best
	}
	if n := f.length(from, i); n >= gram && i-from < maxDistance {
		return f.better(best, match{i, from, n})
	}
	return best
}

func (f *finder) better(a, b match) match {
	if a.n == 0 || f.gain(b) > f.gain(a) {
		return b
	}
	return a
}

// gain estimates how many bytes a match saves.
func (f *finder) gain(m match) int {
	distance := m.at - m.from
	switch {
	case m.n == 0:
		return 0
	case f.continues(m):
		return m.n - 1
	case distance == f.distance || distance < nearDistance && m.n <= mostNear:
		return m.n - 2
	case distance < 1<<16:
		return m.n - 3
	}
	return m.n - 5
}

// length returns how many bytes at the position "from" equal those at i. A copy does not
// cross the end of the dictionary or of the base.
func (f *finder) length(from, i int) int {
	if from < 0 || from >= i {
		return 0
	}
	a, b := f.text[from:f.end], f.text[i:f.end]
	switch {
	case from < f.base:
		a = f.text[from:f.base]
	case from < f.target:
		a = f.text[from:f.target]
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

// extendBack extends a match to the left into text that is not encoded yet, unless
// the match continues the last copy from the dictionary.
func (f *finder) extendBack(m match, literal int) match {
	if f.guide.inserts && f.continues(m) {
		return m
	}
	for m.at > literal && m.from > 0 && m.from != f.base && m.from != f.target && f.text[m.at-1] == f.text[m.from-1] {
		m.at, m.from, m.n = m.at-1, m.from-1, m.n+1
	}
	return m
}

// upToGuide truncates a copy if a continuation in the guide can replace the end of
// the copy and reaches further. A continuation takes one byte, and another copy takes
// three. A truncated copy of fewer than leastNear bytes is dropped, so that its bytes
// become a literal.
func (f *finder) upToGuide(m match) match {
	if f.continues(m) {
		return m
	}
	for n := m.n - 1; n > 0 && n > m.n-mostCut; n-- {
		at := m.at + n
		from := at - f.guide.continuation(at-f.target)
		if f.isInGuide(from) && f.text[from] == f.text[at] && f.length(from, at) > m.n-n+leastGoOn {
			if m.n = n; n < leastNear {
				return match{}
			}
			return m
		}
	}
	return m
}

// learn adds position i, which is in the target, to the index of the target.
func (f *finder) learn(i int) {
	f.inTarget[gramAt(f.text, i, f.ownBits)] = int32(i - f.target + 1)
}
