package view

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
)

// order is the total order that a sort specification defines: a column, a field,
// "name", "namespace", or "" for key order. A "-" prefix reverses it. Objects
// with equal values are in key order in either direction. A date sorts by age,
// youngest first.
type order struct {
	heap *store.Heap
	// value returns the value to sort by. It is nil for key order.
	value func(store.Ref) api.Value
	// fixed means that the value derives from the key and never changes.
	fixed bool
	cell  api.Cells // the cell that contains the value, unless fixed
	// reversed has all bits set if large values come first.
	reversed sortKey
}

func newOrder(heap *store.Heap, schema *api.Schema, sort string) (order, *api.Status) {
	name, reversed := strings.CutPrefix(sort, "-")
	o := order{heap: heap}
	switch {
	case name == "":
		o.fixed = true
		if reversed {
			o.value = func(ref store.Ref) api.Value { return text(string(heap.Key(ref))) }
		}
	case lite.EqualFold(name, "name"):
		o.fixed, o.value = true, func(ref store.Ref) api.Value { return text(heap.Key(ref).Name()) }
	case lite.EqualFold(name, "namespace"):
		o.fixed, o.value = true, func(ref store.Ref) api.Value { return text(heap.Key(ref).Namespace()) }
	default:
		if i := schema.Column(name); i >= 0 {
			o.cell, o.value = api.ColumnCell(i), func(ref store.Ref) api.Value { return heap.Envelope(ref).Column(i) }
			reversed = reversed != (schema.Columns[i].Kind == api.Date)
		} else if i := schema.Field(name); i >= 0 {
			o.cell, o.value = api.FieldCell(i), func(ref store.Ref) api.Value { return text(heap.Envelope(ref).Field(i)) }
		} else {
			return o, unknownColumn(schema, "sort", name)
		}
	}
	if reversed {
		o.reversed = ^sortKey(0)
	}
	return o, nil
}

func text(s string) api.Value { return api.Value{Kind: api.String, Text: s} }

// key returns the sort key of a version. Different keys define the order. For
// equal keys, exact reports whether the versions must be compared.
func (o *order) key(ref store.Ref) sortKey {
	if o.value == nil {
		return 0
	}
	return sortKeyOf(o.value(ref)) ^ o.reversed
}

// isText reports whether the sort key belongs to a text.
func (o *order) isText(key sortKey) bool { return (key^o.reversed)>>valueBits == sortKey(api.String) }

// textKey returns the sort key of a version's text from a byte offset on.
func (o *order) textKey(ref store.Ref, from int) sortKey {
	return sortKeyOf(text(o.value(ref).Text[from:])) ^ o.reversed
}

// compare orders two versions by value. Zero means that the keys of the objects
// decide.
func (o *order) compare(a, b store.Ref) int {
	c := o.value(a).Compare(o.value(b))
	if o.reversed != 0 {
		return -c
	}
	return c
}

// same reports whether two versions of an object, which share this sort key, have
// the same position.
func (o *order) same(key sortKey, a, b store.Ref) bool {
	return o.fixed || o.exact(key) || o.compare(a, b) == 0
}

// exact reports whether versions with this sort key have equal values.
func (o *order) exact(key sortKey) bool { return o.value == nil || (key ^ o.reversed).exact() }

// valueOf returns a function that reads the named column or field, for counting.
func valueOf(heap *store.Heap, schema *api.Schema, name string) (func(store.Ref) string, *api.Status) {
	if i := schema.Field(name); i >= 0 {
		return func(ref store.Ref) string { return heap.Envelope(ref).Field(i) }, nil
	}
	if i := schema.Column(name); i >= 0 {
		return func(ref store.Ref) string { return heap.Envelope(ref).Column(i).String() }, nil
	}
	return nil, unknownColumn(schema, "count", name)
}

func unknownColumn(schema *api.Schema, verb, name string) *api.Status {
	var names []string
	for _, c := range schema.Columns {
		names = append(names, c.Name)
	}
	names = append(names, schema.Fields...)
	return api.BadRequest("cannot " + verb + " " + schema.Resource.String() + " by " + lite.Quote(name) +
		": there is no such column or field; there are " + lite.Join(names, ", "))
}
