package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
)

// level orders rows by one sort key. A view has one level per sort key, or no level if it
// sorts by the keys of the objects.
type level struct {
	arena *store.Arena
	by    query.SortKey
	// column is the index of the column that the level orders by, or -1.
	column int
	// byKey means that the level orders by the keys of the objects, and ignores the field
	// by.
	byKey bool
	// reversed has all bits set if large values come first. Otherwise it is zero.
	reversed sortKey
	// null is the sort key of rows without a value.
	null sortKey
	// ranking is nil if the level does not rank texts.
	ranking  *ranking
	unranked bool // the texts are not ranked, also after the next scan
	// a and b are buffers for the values being compared.
	a, b []byte
}

func newLevels(arena *store.Arena, sort query.Sort) []level {
	if sort.Reversed {
		return []level{{arena: arena, byKey: true, reversed: ^sortKey(0)}}
	}
	levels := make([]level, len(sort.Keys))
	for i, k := range sort.Keys {
		l := &levels[i]
		l.arena, l.by, l.column = arena, k, k.Column()
		if k.Descending {
			l.reversed = ^sortKey(0)
		}
		if !k.NullsFirst {
			l.null = ^sortKey(0)
		}
	}
	return levels
}

// value returns the value to sort by. It may alias the arena or the buffer. The zero Ref,
// which has no value, stands for a row that was removed while the rows were sorted.
func (l *level) value(ref store.Ref, buffer *[]byte) api.Value {
	if ref == 0 {
		return api.Value{}
	}
	if l.byKey {
		return api.Value{Kind: api.String, Text: string(l.arena.Key(ref))}
	}
	var v api.Value
	if l.column >= 0 {
		v = l.arena.Envelope(ref).Column(l.column) // the common case, without a copy of the row
	} else {
		row := rowOf(l.arena, ref, l.by.NeedsLabels())
		v = l.by.Value(&row)
	}
	if v.Kind == api.String {
		v, *buffer = l.by.Comparable(v, *buffer)
	}
	return v
}

// rowOf returns a version as a row, with its labels and owner if labels is set.
func rowOf(arena *store.Arena, ref store.Ref, labels bool) query.Row {
	row := query.Row{Envelope: arena.Envelope(ref)}
	if labels {
		row.Labels = arena.LabelsAndOwner(ref)
	}
	return row
}

// key returns the sort key of a version. Different keys decide the order. If equal keys
// are not exact, the versions must be compared.
func (l *level) key(ref store.Ref) sortKey {
	if l.ranking != nil {
		row := rowOf(l.arena, ref, l.by.NeedsLabels())
		return l.ranking.keys[l.number(&row)]
	}
	return l.keyOfComparable(l.value(ref, &l.a))
}

// keyOf returns the sort key of a value of the operand.
func (l *level) keyOf(v api.Value) sortKey {
	if v.Kind == api.String {
		v, l.a = l.by.Comparable(v, l.a)
	}
	return l.keyOfComparable(v)
}

func (l *level) keyOfComparable(v api.Value) sortKey {
	if v.Kind == api.Null {
		return l.null
	}
	return sortKeyOf(v) ^ l.reversed
}

// compareTexts compares two texts of the operand in the order of the level. It returns a
// negative number, zero or a positive number.
func (l *level) compareTexts(a, b string) int {
	var x, y api.Value
	x, l.a = l.by.Comparable(api.Value{Kind: api.String, Text: a}, l.a)
	y, l.b = l.by.Comparable(api.Value{Kind: api.String, Text: b}, l.b)
	if l.reversed != 0 {
		return y.Compare(x)
	}
	return x.Compare(y)
}

// isText reports whether the sort key belongs to a text.
func (l *level) isText(key sortKey) bool { return (key^l.reversed)>>valueBits == sortKey(api.String) }

// textKey returns the sort key of the part of a version's text that starts at a byte offset.
func (l *level) textKey(ref store.Ref, from int) sortKey {
	v := l.value(ref, &l.a)
	v.Text = v.Text[min(from, len(v.Text)):] // the text may have become shorter since the sort began
	return sortKeyOf(v) ^ l.reversed
}

// compare compares the values of two versions in the order of the level, with a result
// like that of compareTexts.
func (l *level) compare(a, b store.Ref) int {
	c := l.value(a, &l.a).Compare(l.value(b, &l.b))
	if l.reversed != 0 {
		return -c
	}
	return c
}

// exact reports whether all versions with this sort key have equal values.
func (l *level) exact(key sortKey) bool {
	return l.ranking != nil || key == l.null || (key ^ l.reversed).exact()
}

// same reports whether a change preserves the value. key is the sort key of both
// versions.
func (l *level) same(key sortKey, e *history.Event) bool {
	return l.exact(key) || l.compare(e.Previous, e.Current) == 0
}

// untouched reports whether a change is known to preserve the value, without reading the
// value.
func (l *level) untouched(e *history.Event) bool {
	return l.byKey || l.by.Same(e.Unchanged, l.by.NeedsLabels() && l.arena.LabelSet(e.Current) == l.arena.LabelSet(e.Previous))
}
