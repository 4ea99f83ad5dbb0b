package view

import (
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
)

// sort sorts objects, given in key order, into the order of the view. It sorts by
// the digits of the sort keys, which is stable. Where sort keys are not exact, it
// sorts texts by their next bytes and other values by comparison.
func (v *View) sort(ids []store.ID) { v.sortFrom(make([]store.ID, len(ids)), ids, 0) }

// sortFrom sorts objects whose sort keys describe their texts from a byte offset
// on. scratch has the length of ids.
func (v *View) sortFrom(scratch, ids []store.ID, from int) {
	var all, differ sortKey
	for i, id := range ids {
		if i == 0 {
			all = v.keys[id]
		}
		differ |= v.keys[id] ^ all
	}
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff != 0 {
			v.sortByDigit(scratch, ids, shift)
			copy(ids, scratch)
		}
	}
	v.sortRuns(scratch, ids, from)
}

// sortByDigit is one pass of a radix sort.
func (v *View) sortByDigit(to, from []store.ID, shift int) {
	var next [256]int
	for _, id := range from {
		next[uint8(v.keys[id]>>shift)]++
	}
	start := 0
	for digit, n := range next {
		next[digit] = start
		start += n
	}
	for _, id := range from {
		digit := uint8(v.keys[id] >> shift)
		to[next[digit]] = id
		next[digit]++
	}
}

// fewRows is the number of rows up to which comparison is faster than sorting by
// the next bytes.
const fewRows = 32

func (v *View) sortRuns(scratch, ids []store.ID, from int) {
	state := v.cacher.State()
	for len(ids) > 0 {
		key, n := v.keys[ids[0]], 1
		for n < len(ids) && v.keys[ids[n]] == key {
			n++
		}
		switch {
		case n == 1 || v.order.exact(key):
		case n > fewRows && v.order.isText(key):
			v.sortRest(scratch[:n], ids[:n], from+textBytes)
		default:
			lite.Sort(ids[:n], func(a, b *store.ID) bool {
				return v.order.compare(state.Version(*a), state.Version(*b)) < 0
			})
		}
		ids = ids[n:]
	}
}

// sortRest sorts objects with equal sort keys by their texts from a byte offset
// on.
func (v *View) sortRest(scratch, ids []store.ID, from int) {
	key, state := v.keys[ids[0]], v.cacher.State()
	for _, id := range ids {
		v.keys[id] = v.order.textKey(state.Version(id), from)
	}
	v.sortFrom(scratch, ids, from)
	for _, id := range ids {
		v.keys[id] = key
	}
}
