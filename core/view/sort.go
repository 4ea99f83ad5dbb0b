package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// sort puts objects that come in key order in the order of the view: by the
// digits of their sort keys, which keeps key order among equals, and then by
// comparison where keys do not say everything.
func (v *View) sort(ids []store.ID) {
	var all, differ sortKey
	for i, id := range ids {
		if i == 0 {
			all = v.keys[id]
		}
		differ |= v.keys[id] ^ all
	}
	if differ != 0 {
		scratch := make([]store.ID, len(ids))
		for shift := 0; shift < 64; shift += 8 {
			if differ>>shift&0xff != 0 {
				v.sortByDigit(scratch, ids, shift)
				copy(ids, scratch)
			}
		}
	}
	v.sortRuns(ids)
}

// sortByDigit is one pass of a radix sort, from one slice to the other.
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

func (v *View) sortRuns(ids []store.ID) {
	state := v.cacher.State()
	for len(ids) > 0 {
		key, n := v.keys[ids[0]], 1
		for n < len(ids) && v.keys[ids[n]] == key {
			n++
		}
		if n > 1 && !v.order.exact(key) {
			api.Sort(ids[:n], func(a, b *store.ID) bool {
				return v.order.compare(state.Version(*a), state.Version(*b)) < 0
			})
		}
		ids = ids[n:]
	}
}
