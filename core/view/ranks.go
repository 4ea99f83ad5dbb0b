package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
)

// levelBuild interns the texts of a sort level during a scan, because many rows have the
// same few texts. Each text is converted to a sort key once, and the rows are then sorted
// by the ranks of the texts. A level with many different texts is sorted by its sort keys.
type levelBuild struct {
	numbers map[string]uint32 // nil if the level does not intern
	texts   []string          // by number
	keys    []sortKey         // by number
	last    uint32            // the number of the last row's text
	ranks   []sortKey         // by object: first the number of the text, then its rank
}

// maxInterned is the maximum number of different texts that a level interns.
const maxInterned = 4096

func newLevelBuilds(levels []level) []levelBuild {
	builds := make([]levelBuild, len(levels))
	for i := range levels {
		if l := &levels[i]; !l.byKey && l.by.Kind() == api.String {
			builds[i].numbers = map[string]uint32{}
		}
	}
	return builds
}

// buildKeys computes the sort keys of a row during a scan.
func (v *View) buildKeys(id store.ID, ref store.Ref, row *query.Row) {
	for i := range v.levels {
		l, b := &v.levels[i], &v.build.levels[i]
		keys := atLeast(v.keys[i], int(id)+1)
		v.keys[i] = keys
		if l.byKey {
			keys[id] = l.key(ref)
			continue
		}
		if b.numbers != nil && b.intern(l, row) {
			keys[id] = b.keys[b.last]
			b.ranks = atLeast(b.ranks, int(id)+1)
			b.ranks[id] = sortKey(b.last)
			continue
		}
		keys[id] = l.keyOf(l.by.Value(row))
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

// intern sets last to the number of the row's text and returns true. A null value sorts like
// an empty text. If there are too many texts, or the value is not a text, intern returns
// false and the level stops interning.
func (b *levelBuild) intern(l *level, row *query.Row) bool {
	text, ok := l.by.Text(row)
	if !ok {
		*b = levelBuild{}
		return false
	}
	if len(b.texts) > 0 && b.texts[b.last] == text {
		return true
	}
	number, known := b.numbers[text]
	if !known {
		if len(b.texts) == maxInterned {
			*b = levelBuild{}
			return false
		}
		number = uint32(len(b.texts))
		text = lite.Clone(text)
		b.numbers[text] = number
		b.texts = append(b.texts, text)
		b.keys = append(b.keys, l.keyOf(textValue(text)))
	}
	b.last = number
	return true
}

func textValue(text string) api.Value { return api.Value{Kind: api.String, Text: text} }

// rank replaces the numbers of texts with their ranks. Texts that compare as equal have equal
// ranks.
func (b *levelBuild) rank(l *level, ids []store.ID) {
	order := make([]uint32, len(b.texts))
	for i := range order {
		order[i] = uint32(i)
	}
	compare := func(x, y uint32) int {
		if kx, ky := b.keys[x], b.keys[y]; kx != ky {
			if kx < ky {
				return -1
			}
			return 1
		}
		if l.exact(b.keys[x]) {
			return 0
		}
		return l.compareValues(textValue(b.texts[x]), textValue(b.texts[y]))
	}
	lite.Sort(order, func(x, y *uint32) bool { return compare(*x, *y) < 0 })
	ranks := make([]sortKey, len(order))
	for i, number := range order {
		ranks[number] = sortKey(i)
		if i > 0 && compare(order[i-1], number) == 0 {
			ranks[number] = ranks[order[i-1]]
		}
	}
	for _, id := range ids {
		b.ranks[id] = ranks[b.ranks[id]]
	}
}
