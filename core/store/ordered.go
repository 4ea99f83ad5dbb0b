package store

import "github.com/watchglass/watchglass/core/internal/lite"

// Ordered is a sequence of object IDs in an order that its owner defines. Search methods take a
// function before, which reports whether an entry precedes the target position.
//
// The sequence is a list of sorted chunks. A search consists of two binary searches. Computing
// a position adds up the lengths of the preceding chunks. For a million entries, that takes two
// thousand additions over adjacent memory, which is cheaper than the cache misses of a tree.
type Ordered struct {
	chunks [][]ID
	count  int
}

const chunkSize = 512

// Len returns the number of entries.
func (o *Ordered) Len() int { return o.count }

// search returns the location of the first entry for which before is false. The
// entries for which before is true must come first.
func (o *Ordered) search(before func(ID) bool) (chunk, pos int) {
	lo, hi := 0, len(o.chunks)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		c := o.chunks[mid]
		if before(c[len(c)-1]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(o.chunks) {
		return lo, 0
	}
	c := o.chunks[lo]
	i, j := 0, len(c)
	for i < j {
		mid := int(uint(i+j) >> 1)
		if before(c[mid]) {
			i = mid + 1
		} else {
			j = mid
		}
	}
	return lo, i
}

// Insert inserts id, which must not be present, after the entries for which
// before is true. It returns the neighbors of id, or zero where there is none.
func (o *Ordered) Insert(id ID, before func(ID) bool) (left, right ID) {
	if n := len(o.chunks); n > 0 && before(o.last()) {
		left = o.last()
		o.Append(id)
		return left, 0
	}
	chunk, pos := o.search(before)
	if left, right = o.neighbors(chunk, pos); right == 0 {
		o.Append(id)
	} else {
		o.insert(id, chunk, pos)
	}
	return left, right
}

// Around returns the last entry for which before is true and the first for which it is
// false, or zero where there is none.
func (o *Ordered) Around(before func(ID) bool) (left, right ID) { return o.neighbors(o.search(before)) }

// neighbors returns the entries before and at a location, or zero where there is none.
func (o *Ordered) neighbors(chunk, pos int) (left, right ID) {
	if chunk < len(o.chunks) {
		right = o.chunks[chunk][pos]
	}
	switch {
	case pos > 0:
		left = o.chunks[chunk][pos-1]
	case chunk > 0:
		left = o.chunks[chunk-1][len(o.chunks[chunk-1])-1]
	}
	return left, right
}

// Load replaces all entries with ids and takes ownership of the slice.
//
//go:noinline
func (o *Ordered) Load(ids []ID) {
	o.count, o.chunks = len(ids), make([][]ID, 0, len(ids)/chunkSize+1)
	for len(ids) > chunkSize {
		o.chunks = append(o.chunks, ids[:chunkSize:chunkSize])
		ids = ids[chunkSize:]
	}
	if len(ids) > 0 {
		o.chunks = append(o.chunks, append(make([]ID, 0, chunkSize), ids...))
	}
}

func (o *Ordered) last() ID {
	c := o.chunks[len(o.chunks)-1]
	return c[len(c)-1]
}

// Append adds id at the end.
func (o *Ordered) Append(id ID) {
	n := len(o.chunks)
	if n == 0 {
		o.count++
		o.chunks = append(o.chunks, append(make([]ID, 0, chunkSize), id))
		return
	}
	o.insert(id, n-1, len(o.chunks[n-1]))
}

func (o *Ordered) insert(id ID, chunk, pos int) {
	o.count++
	if len(o.chunks[chunk]) == chunkSize {
		chunk, pos = o.split(chunk, pos)
	}
	o.chunks[chunk] = lite.Insert(o.chunks[chunk], pos, id)
}

// split halves a full chunk before an insertion at pos. For an insertion at the end it
// keeps the chunk full, because the input is probably sorted. It returns the location in
// the new chunks that corresponds to pos.
func (o *Ordered) split(chunk, pos int) (int, int) {
	c := o.chunks[chunk]
	at := chunkSize / 2
	if pos == chunkSize {
		at = pos
	}
	right := append(make([]ID, 0, chunkSize), c[at:]...)
	o.chunks[chunk] = c[:at]
	o.chunks = lite.Insert(o.chunks, chunk+1, right)
	if pos < at {
		return chunk, pos
	}
	return chunk + 1, pos - at
}

// Remove removes id, which must be the first entry for which before is false. It
// reports whether id was present.
func (o *Ordered) Remove(id ID, before func(ID) bool) bool {
	chunk, pos := o.search(before)
	if chunk == len(o.chunks) || o.chunks[chunk][pos] != id {
		return false
	}
	o.count--
	c := lite.RemoveAt(o.chunks[chunk], pos)
	o.chunks[chunk] = c
	if len(c) == 0 {
		o.chunks = lite.RemoveAt(o.chunks, chunk)
	}
	return true
}

// From yields the entries from position at on, in order, until yield returns false.
func (o *Ordered) From(at int, yield func(ID) bool) {
	for _, c := range o.chunks {
		if at >= len(c) {
			at -= len(c)
			continue
		}
		for _, id := range c[max(at, 0):] {
			if !yield(id) {
				return
			}
		}
		at = 0
	}
}

// Count returns the number of entries for which before is true.
func (o *Ordered) Count(before func(ID) bool) int {
	chunk, n := o.search(before)
	for _, c := range o.chunks[:chunk] {
		n += len(c)
	}
	return n
}

// ascend yields the entries for which before is false, in order, until yield
// returns false.
func (o *Ordered) ascend(before func(ID) bool, yield func(ID) bool) {
	chunk, pos := o.search(before)
	for ; chunk < len(o.chunks); chunk++ {
		for _, id := range o.chunks[chunk][pos:] {
			if !yield(id) {
				return
			}
		}
		pos = 0
	}
}
