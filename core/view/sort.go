package view

import (
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
)

// sortTask is a part of the rows that is not sorted yet.
type sortTask struct {
	ids, scratch []store.ID // of the same length
	level, from  int        // see sortLevel
	digit        int        // the next digit to sort by; equal to digits if none is left
	restore      bool       // do not sort, but reset the sort keys of the rows to key
	key          sortKey
}

const (
	digits = 8
	// sortAtOnce is the maximum number of rows that one step sorts completely.
	sortAtOnce = 1024
)

// startSort begins to sort the scanned objects, which are in key order, into the order of
// the view. A stable radix sort orders the rows by the digits of their sort keys. Where
// equal sort keys are not exact, texts are sorted by their next bytes and other values by
// comparison. Rows with equal values are sorted by the next level. The keys
// of a level that ranks its texts are exact.
func (v *View) startSort() {
	b := v.build
	for i := range v.levels {
		if v.levels[i].ranking != nil {
			v.levels[i].rank(v.keys[i], b.ids)
		}
	}
	if len(v.levels) > 0 {
		b.push(sortTask{ids: b.ids, scratch: make([]store.ID, len(b.ids))})
	}
}

// push adds a task that is performed before the others.
//
//go:noinline
func (b *build) push(t sortTask) { b.tasks = append(b.tasks, t) }

// sortStep performs the next task, or a part of it, and returns the work that was done.
func (v *View) sortStep(work int) (done int) {
	b := v.build
	t := b.tasks[len(b.tasks)-1]
	b.tasks = b.tasks[:len(b.tasks)-1]
	keys := v.keys[t.level]
	switch {
	case t.restore:
		for _, id := range t.ids {
			keys[id] = t.key
		}
		return len(t.ids)
	case t.digit == digits:
		return v.sortParts(t, work)
	case len(t.ids) <= sortAtOnce:
		v.sortLevel(t.level, t.scratch, t.ids, t.from)
		return costCompare * (len(t.ids) + 1)
	}
	for t.digit < digits && done == 0 {
		shift := 8 * t.digit
		var differ sortKey
		for _, id := range t.ids {
			differ |= keys[id] ^ keys[t.ids[0]]
		}
		if differ>>shift == 0 {
			t.digit = digits - 1
		} else if differ>>shift&0xff != 0 {
			sortByDigit(keys, t.scratch, t.ids, shift)
			copy(t.ids, t.scratch)
			done = len(t.ids)
		}
		t.digit++
	}
	b.push(t)
	return done + len(t.ids)
}

// sortParts sorts the rows within each part of equal sort keys. It divides a large part
// into further tasks.
func (v *View) sortParts(t sortTask, work int) (done int) {
	b := v.build
	keys := v.keys[t.level]
	l := &v.levels[t.level]
	for len(t.ids) > 0 && done < work {
		key, n := keys[t.ids[0]], 1
		for n < len(t.ids) && keys[t.ids[n]] == key {
			n++
		}
		part := sortTask{ids: t.ids[:n], scratch: t.scratch[:n], level: t.level, from: t.from}
		t.ids, t.scratch = t.ids[n:], t.scratch[n:]
		exact := l.exact(key)
		text := !exact && l.isText(key)
		if n <= sortAtOnce || !exact && !text || exact && t.level+1 == len(v.levels) {
			v.sortRuns(part.level, part.scratch, part.ids, part.from)
			done += costCompare * n
			continue
		}
		b.push(t)
		if text {
			b.push(sortTask{ids: part.ids, level: t.level, restore: true, key: key})
			part.from += textBytes
			for _, id := range part.ids {
				keys[id] = l.textKey(v.cacher.State().Version(id), part.from)
			}
			done += costCompare * n
		} else {
			part.level, part.from = t.level+1, 0
		}
		b.push(part)
		return done + n
	}
	if len(t.ids) > 0 {
		b.push(t)
	}
	return done
}

// sortLevel sorts objects by a level and all later levels. The sort keys of texts must
// represent the part of each text that starts at the byte offset "from". scratch has the
// length of ids.
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

// sortByDigit performs one pass of a radix sort.
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

// sortByInsertion sorts rows by their sort keys. The sort is stable, and fast for a few
// rows.
func sortByInsertion(keys []sortKey, ids []store.ID) {
	for i := range ids {
		for j := i; j > 0 && keys[ids[j]] < keys[ids[j-1]]; j-- {
			ids[j], ids[j-1] = ids[j-1], ids[j]
		}
	}
}

const (
	// fewRows is the number of rows up to which an insertion sort is faster than a radix
	// sort.
	fewRows = 32
	// usualText is the length that most texts do not exceed. If only a few rows have
	// texts that are equal up to this length, the whole texts are compared. Another step
	// of the radix sort would read every text completely again.
	usualText = 6 * textBytes
)

// sortRuns sorts the objects within each run of equal sort keys of a level. ids are already
// sorted by these keys.
func (v *View) sortRuns(level int, scratch, ids []store.ID, from int) {
	keys := v.keys[level]
	l, state := &v.levels[level], v.cacher.State()
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

// sortRest sorts objects with equal sort keys by the rest of their texts, which starts at
// the byte offset "from".
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
