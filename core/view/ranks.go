package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
)

// ranking assigns sort keys to the texts of a sort level, because many rows have the same few
// texts. The keys decide the order alone, so no version must be read to compare rows. A view
// collects the texts while it scans the objects, and then assigns the keys. Texts that appear
// later get keys between those of their neighbors. Keys never change, so the views of a
// collection can share a ranking.
type ranking struct {
	numbers map[string]uint32 // by text; texts that compare as equal have one number
	texts   []string          // by number; the first is "", which stands for null
	keys    []sortKey         // by number; nil during the scan
	order   []uint32          // the numbers except that of null, in the order of the level
	last    uint32            // the number that was returned last
	// full means that a text has no key of its own. The views must scan the objects again, without
	// a ranking if unfit is also set.
	full, unfit bool
}

const (
	// maxRanked is the maximum number of texts that a scan collects, and of those that are added
	// later.
	maxRanked = 4096
	// maxRankedText is the maximum length of a text that a ranking contains.
	maxRankedText = 256
	// A scan assigns keys from firstRank on, at this distance. There is room for all later texts
	// below or above the others, and for 48 texts that each appear directly below the previous one.
	firstRank = sortKey(1) << 61
	rankGap   = sortKey(1) << 48
	// rankedTextSize is the approximate memory of a text in a ranking.
	rankedTextSize = 100
)

// startRanking prepares the level for a scan of the objects.
func (l *level) startRanking() {
	l.unranked = l.unranked || l.byKey || l.by.Kind() != api.String || l.ranking != nil && l.ranking.unfit
	l.ranking = nil
	if !l.unranked {
		l.ranking = &ranking{numbers: map[string]uint32{"": 0}, texts: []string{""}}
	}
}

// full reports whether a ranking has no room, so that the view must scan the objects again.
//
//go:noinline
func (v *View) full() bool {
	for i := range v.levels {
		if r := v.levels[i].ranking; r != nil && r.full {
			return true
		}
	}
	return false
}

// buildKeys computes the sort keys of a row during a scan. In a level with a ranking, the key
// is the number of the text until the scan is complete.
func (v *View) buildKeys(id store.ID, ref store.Ref, row *query.Row) {
	for i := range v.levels {
		l := &v.levels[i]
		keys := atLeast(v.keys[i], int(id)+1)
		v.keys[i] = keys
		switch {
		case l.byKey:
			keys[id] = l.key(ref)
		case l.ranking != nil:
			keys[id] = sortKey(l.number(row))
		default:
			keys[id] = l.keyOf(l.by.Value(row))
		}
	}
}

// atLeast extends a slice with zeros if it is shorter than length.
//
//go:noinline
func atLeast(list []sortKey, length int) []sortKey {
	if missing := length - len(list); missing > 0 {
		list = append(list, make([]sortKey, missing)...)
	}
	return list
}

// number returns the number of a row's text, and adds the text if it is new. If there is no room,
// it returns another number, and the ranking becomes full. If there are too many texts to begin
// with, a text is too long, or a value is not a text, the ranking also becomes unfit.
func (l *level) number(row *query.Row) uint32 {
	r := l.ranking
	text, ok := l.by.Text(row)
	if ok && r.texts[r.last] == text {
		return r.last
	}
	number, known := r.numbers[text]
	if !ok || !known {
		r.unfit = r.unfit || !ok || len(text) > maxRankedText || r.keys == nil && len(r.numbers) > maxRanked
		if r.full = r.full || r.unfit || len(r.numbers) > 2*maxRanked; r.full {
			return 0
		}
		number = l.add(text)
	}
	r.last = number
	return number
}

// rank assigns keys to the collected texts, and replaces the number of each row's text with
// the key of the text.
func (l *level) rank(keys []sortKey, ids []store.ID) {
	r := l.ranking
	r.keys = make([]sortKey, len(r.texts))
	r.keys[0] = l.null
	for i, number := range r.order {
		r.keys[number] = firstRank + sortKey(i)*rankGap
	}
	for _, id := range ids {
		// A row that moved may occur twice. Its position is determined later.
		if number := keys[id]; number < sortKey(len(r.keys)) {
			keys[id] = r.keys[number]
		}
	}
}

// add adds a text and returns its number. After the scan, it also assigns a key.
func (l *level) add(text string) (number uint32) {
	r := l.ranking
	text = lite.Clone(text)
	lo, hi := 0, len(r.order)
	for lo < hi {
		mid := (lo + hi) / 2
		switch c := l.compareTexts(r.texts[r.order[mid]], text); {
		case c == 0:
			r.numbers[text] = r.order[mid]
			return r.order[mid]
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	if r.keys != nil {
		r.keys = append(r.keys, r.keyAt(lo))
	}
	number = uint32(len(r.texts))
	r.numbers[text] = number
	r.texts = append(r.texts, text)
	r.order = lite.Insert(r.order, lo, number)
	return number
}

// keyAt returns a key for a text at an index in the order. If there is no key between those of the
// neighbors, it returns that of a neighbor, and the ranking becomes full.
func (r *ranking) keyAt(i int) sortKey {
	below, above := firstRank-rankGap, firstRank+rankGap
	if i > 0 {
		below = r.keys[r.order[i-1]]
		above = below + 2*rankGap
	}
	if i < len(r.order) {
		above = r.keys[r.order[i]]
		if i == 0 {
			below = above - 2*rankGap
		}
	}
	r.full = r.full || above-below < 2
	return below + (above-below)/2
}
