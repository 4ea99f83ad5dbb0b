package view

import (
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
)

// sort sorts objects, given in key order, into the order of the view. It sorts by
// the digits of the sort keys, which is stable. Where sort keys are not exact, it
// sorts texts by their next bytes and other values by comparison. Rows with equal
// values are sorted by the next level.
func (v *View) sort(ids []store.ID) { v.sortLevel(0, make([]store.ID, len(ids)), ids, 0) }

// sortLevel sorts objects whose sort keys of a level describe their texts from a byte
// offset on. scratch has the length of ids.
func (v *View) sortLevel(level int, scratch, ids []store.ID, from int) {
	if level == len(v.levels) {
		return
	}
	keys := v.keys[level]
	if len(ids) <= fewRows {
		sortByInsertion(keys, ids)
		v.sortRuns(level, scratch, ids, from)
		return
	}
	var all, differ sortKey
	for i, id := range ids {
		if i == 0 {
			all = keys[id]
		}
		differ |= keys[id] ^ all
	}
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff != 0 {
			sortByDigit(keys, scratch, ids, shift)
			copy(ids, scratch)
		}
	}
	v.sortRuns(level, scratch, ids, from)
}

// sortByDigit is one pass of a radix sort.
func sortByDigit(keys []sortKey, to, from []store.ID, shift int) {
	var next [256]int
	for _, id := range from {
		next[uint8(keys[id]>>shift)]++
	}
	start := 0
	for digit, n := range next {
		next[digit] = start
		start += n
	}
	for _, id := range from {
		digit := uint8(keys[id] >> shift)
		to[next[digit]] = id
		next[digit]++
	}
}

// sortByInsertion is stable and suits few rows.
func sortByInsertion(keys []sortKey, ids []store.ID) {
	for i := range ids {
		for j := i; j > 0 && keys[ids[j]] < keys[ids[j-1]]; j-- {
			ids[j], ids[j-1] = ids[j-1], ids[j]
		}
	}
}

const (
	// fewRows is the number of rows up to which comparison is faster than sorting by
	// digits.
	fewRows = 32
	// usualText is the length that most texts do not exceed. Few rows whose texts are
	// equal so far are compared as a whole, because every step reads all of a text.
	usualText = 6 * textBytes
)

func (v *View) sortRuns(level int, scratch, ids []store.ID, from int) {
	keys, state := v.keys[level], v.cacher.State()
	l := &v.levels[level]
	for len(ids) > 0 {
		key, n := keys[ids[0]], 1
		for n < len(ids) && keys[ids[n]] == key {
			n++
		}
		switch exact := l.exact(key); {
		case n == 1 || exact && level+1 == len(v.levels):
		case exact:
			v.sortLevel(level+1, scratch[:n], ids[:n], 0)
		case l.isText(key) && (n > fewRows || from < usualText):
			v.sortRest(level, scratch[:n], ids[:n], from+textBytes)
		default:
			lite.Sort(ids[:n], func(a, b *store.ID) bool {
				return v.compare(level, *a, state.Version(*a), *b, state.Version(*b)) < 0
			})
		}
		ids = ids[n:]
	}
}

// sortRest sorts objects with equal sort keys by their texts from a byte offset
// on.
func (v *View) sortRest(level int, scratch, ids []store.ID, from int) {
	keys, state := v.keys[level], v.cacher.State()
	key := keys[ids[0]]
	for _, id := range ids {
		keys[id] = v.levels[level].textKey(state.Version(id), from)
	}
	v.sortLevel(level, scratch, ids, from)
	for _, id := range ids {
		keys[id] = key
	}
}
