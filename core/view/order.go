package view

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// compareBy returns the total order that a sort specification asks for: a
// column, a field, "name", "namespace", or nothing for key order, reversed by a
// "-" in front. Objects that are equal in it are in key order, whichever the
// direction. A date sorts by age: the youngest first.
func compareBy(heap *store.Heap, schema *api.Schema, sort string) (func(a, b store.Ref) int, *api.Status) {
	name, reversed := strings.CutPrefix(sort, "-")
	compare, status := comparison(heap, schema, name)
	if status != nil {
		return nil, status
	}
	return func(a, b store.Ref) int {
		order := compare(a, b)
		if reversed {
			order = -order
		}
		if order != 0 {
			return order
		}
		return cmp.Compare(heap.Key(a), heap.Key(b))
	}, nil
}

func comparison(heap *store.Heap, schema *api.Schema, name string) (func(a, b store.Ref) int, *api.Status) {
	switch strings.ToLower(name) {
	case "":
		return func(a, b store.Ref) int { return cmp.Compare(heap.Key(a), heap.Key(b)) }, nil
	case "name":
		return func(a, b store.Ref) int { return cmp.Compare(heap.Key(a).Name(), heap.Key(b).Name()) }, nil
	case "namespace":
		return func(a, b store.Ref) int { return cmp.Compare(heap.Key(a).Namespace(), heap.Key(b).Namespace()) }, nil
	}
	if i := schema.Column(name); i >= 0 {
		return byColumn(heap, i, schema.Columns[i].Kind), nil
	}
	if i := schema.Field(name); i >= 0 {
		return func(a, b store.Ref) int {
			return cmp.Compare(heap.Envelope(a).Field(i), heap.Envelope(b).Field(i))
		}, nil
	}
	return nil, unknownColumn(schema, "sort", name)
}

func byColumn(heap *store.Heap, i int, kind api.ValueKind) func(a, b store.Ref) int {
	if kind == api.Date {
		return func(a, b store.Ref) int { return heap.Envelope(b).Column(i).Compare(heap.Envelope(a).Column(i)) }
	}
	return func(a, b store.Ref) int { return heap.Envelope(a).Column(i).Compare(heap.Envelope(b).Column(i)) }
}

// valueOf returns how a version's value is read for counting: a column or a
// field by name.
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
	return api.BadRequest("cannot " + verb + " " + schema.Resource.String() + " by " + strconv.Quote(name) +
		": there is no such column or field; there are " + strings.Join(names, ", "))
}
