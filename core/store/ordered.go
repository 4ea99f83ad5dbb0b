package store

import "slices"

// Ordered is a sorted sequence of versions under a total order, with positions.
// It is a list of sorted chunks: a search is two binary searches, a position
// is the chunk lengths before it added up. At a million entries that sum is two
// thousand additions over adjacent memory, still cheaper than the cache misses
// of a tree.
//
// It owns no counts: whoever puts a version in sees to it that the version
// lives until it is taken out.
type Ordered struct {
	compare func(a, b Ref) int
	chunks  [][]Ref
	count   int
}

const chunkSize = 512

// NewOrdered returns an empty sequence. compare must be total: zero only for
// entries that stand for the same object.
func NewOrdered(compare func(a, b Ref) int) *Ordered { return &Ordered{compare: compare} }

// Len is the number of entries.
func (o *Ordered) Len() int { return o.count }

// search finds the place of the first entry for which before is false. The
// entries for which it is true must come first.
func (o *Ordered) search(before func(Ref) bool) (chunk, pos int) {
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

func (o *Ordered) locate(ref Ref) (chunk, pos int, found bool) {
	chunk, pos = o.search(func(r Ref) bool { return o.compare(r, ref) < 0 })
	found = chunk < len(o.chunks) && o.compare(o.chunks[chunk][pos], ref) == 0
	return chunk, pos, found
}

// Set puts ref in, or in the place of the entry that compares equal.
func (o *Ordered) Set(ref Ref) {
	chunk, pos, found := o.locate(ref)
	if found {
		o.chunks[chunk][pos] = ref
		return
	}
	o.count++
	if chunk == len(o.chunks) {
		if chunk == 0 {
			o.chunks = append(o.chunks, append(make([]Ref, 0, chunkSize), ref))
			return
		}
		chunk--
		pos = len(o.chunks[chunk])
	}
	if len(o.chunks[chunk]) == chunkSize {
		chunk, pos = o.split(chunk, pos)
	}
	o.chunks[chunk] = slices.Insert(o.chunks[chunk], pos, ref)
}

// split halves a full chunk that is about to grow at pos, except at its end:
// then the load is most likely in order, and the full chunk is left full. It
// returns where pos has gone.
func (o *Ordered) split(chunk, pos int) (int, int) {
	c := o.chunks[chunk]
	at := chunkSize / 2
	if pos == chunkSize {
		at = pos
	}
	right := append(make([]Ref, 0, chunkSize), c[at:]...)
	o.chunks[chunk] = c[:at]
	o.chunks = slices.Insert(o.chunks, chunk+1, right)
	if pos < at {
		return chunk, pos
	}
	return chunk + 1, pos - at
}

// Remove takes out the entry that compares equal to ref and reports whether
// there was one.
func (o *Ordered) Remove(ref Ref) bool {
	chunk, pos, found := o.locate(ref)
	if !found {
		return false
	}
	o.count--
	c := slices.Delete(o.chunks[chunk], pos, pos+1)
	o.chunks[chunk] = c
	if len(c) == 0 {
		o.chunks = slices.Delete(o.chunks, chunk, chunk+1)
	}
	return true
}

// Rank is how many entries come before ref, whether it is in or not.
func (o *Ordered) Rank(ref Ref) int {
	chunk, pos, _ := o.locate(ref)
	for _, c := range o.chunks[:chunk] {
		pos += len(c)
	}
	return pos
}

// From calls yield for the entries from position at on, in order, until it
// returns false.
func (o *Ordered) From(at int, yield func(Ref) bool) {
	for _, c := range o.chunks {
		if at >= len(c) {
			at -= len(c)
			continue
		}
		for _, ref := range c[max(at, 0):] {
			if !yield(ref) {
				return
			}
		}
		at = 0
	}
}

// ascend calls yield for the entries for which before is false, in order,
// until it returns false.
func (o *Ordered) ascend(before func(Ref) bool, yield func(Ref) bool) {
	chunk, pos := o.search(before)
	for ; chunk < len(o.chunks); chunk++ {
		for _, ref := range o.chunks[chunk][pos:] {
			if !yield(ref) {
				return
			}
		}
		pos = 0
	}
}
