package query

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// Row is an object with the data that queries evaluate.
type Row struct {
	Envelope wire.Envelope
	// Cells, if not nil, is the index of the envelope's cells.
	Cells  *wire.CellIndex
	Labels api.Labels // including the owner
	// Now is the time for which ages are computed, in milliseconds since the epoch.
	Now int64
}

// Operand identifies a value of each row of a resource: the name, the namespace, a
// column, a field, a label, the UID or the owner.
type Operand struct {
	source source
	index  int           // index of the column or field
	label  string        // key of the label
	cell   api.Cells     // cell of the column or field
	kind   api.ValueKind // kind of the column; String for all other operands
}

type source uint8

const (
	fromName source = iota
	fromNamespace
	fromColumn
	fromField
	fromLabel
	fromUID
)

// Resolve returns the operand with the given name:
//
//	name, namespace      parts of the key
//	Restarts             a column, in any ASCII case
//	status.phase         a field
//	labels[app]          a label
//	annotations[team]    the column that shows an annotation
//	uid, owner           the UID of the object and of its owner, unless a column or
//	                     field has this name
//
// It returns false for an unknown name.
func Resolve(schema *api.Schema, name string) (Operand, bool) {
	switch {
	case lite.EqualFold(name, "name"):
		return Operand{source: fromName, kind: api.String}, true
	case lite.EqualFold(name, "namespace"):
		return Operand{source: fromNamespace, kind: api.String}, true
	}
	if key, ok := member(name, "labels"); ok {
		return Operand{source: fromLabel, label: key, kind: api.String}, true
	}
	if key, ok := member(name, "annotations"); ok {
		return annotation(schema, key)
	}
	if i := schema.Column(name); i >= 0 {
		return column(schema, i), true
	}
	if i := schema.Field(name); i >= 0 {
		return Operand{source: fromField, index: i, cell: api.FieldCell(i), kind: api.String}, true
	}
	switch {
	case lite.EqualFold(name, "owner"):
		return Operand{source: fromLabel, kind: api.String}, true // the owner has an empty key; see api.Labels
	case lite.EqualFold(name, "uid"):
		return Operand{source: fromUID, kind: api.String}, true
	}
	return Operand{}, false
}

func column(schema *api.Schema, i int) Operand {
	return Operand{source: fromColumn, index: i, cell: api.ColumnCell(i), kind: schema.Columns[i].Kind}
}

// member returns the key in a name such as "labels[key]" or "metadata.labels[key]". The
// parameter of is the name of the map: "labels" or "annotations".
func member(name, of string) (key string, ok bool) {
	name = strings.TrimPrefix(name, "metadata.")
	if len(name) < len(of)+3 || name[:len(of)] != of || name[len(of)] != '[' || name[len(name)-1] != ']' {
		return "", false
	}
	return name[len(of)+1 : len(name)-1], true
}

// annotation returns the column whose path selects the annotation. Envelopes contain
// annotations only as columns.
func annotation(schema *api.Schema, key string) (Operand, bool) {
	for i := range schema.Columns {
		if k, ok := annotationOf(schema.Columns[i].Path); ok && k == key {
			return column(schema, i), true
		}
	}
	return Operand{}, false
}

// annotationOf returns the key of the annotation that a JSONPath selects. It accepts
// .metadata.annotations.key, with dots of the key escaped by backslashes, and
// .metadata.annotations['key'].
func annotationOf(path string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(path, ".metadata.annotations")
	if !ok || len(rest) < 2 {
		return "", false
	}
	if rest[0] == '[' {
		if len(rest) < 5 || rest[1] != rest[len(rest)-2] || rest[len(rest)-1] != ']' {
			return "", false
		}
		return rest[2 : len(rest)-2], true
	}
	if rest[0] != '.' {
		return "", false
	}
	var unescaped []byte
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && i+1 < len(rest):
			i++
		case rest[i] == '.':
			return "", false // the path selects a member of the annotation's value
		}
		unescaped = append(unescaped, rest[i])
	}
	return string(unescaped), true
}

// Value returns the value of the operand in a row. The text of the value aliases the row.
func (o *Operand) Value(r *Row) api.Value {
	switch o.source {
	case fromName:
		return text(r.Envelope.Key().Name())
	case fromNamespace:
		return text(r.Envelope.Key().Namespace())
	case fromColumn:
		if r.Cells != nil {
			return r.Cells.Column(o.index)
		}
		return r.Envelope.Column(o.index)
	case fromField:
		if r.Cells != nil {
			return text(r.Cells.Field(o.index))
		}
		return text(r.Envelope.Field(o.index))
	case fromUID:
		return text(r.Envelope.UID())
	}
	value, ok := r.Labels.Get(o.label)
	if !ok {
		return api.Value{}
	}
	if o.label == "" {
		value = r.Labels.Owner()
	}
	return text(value)
}

// Text returns the text of the operand in a row, which aliases the row. It returns "" if there
// is no value, and false if the value is not a text. It is faster than Value.
func (o *Operand) Text(r *Row) (text string, ok bool) {
	switch {
	case o.source == fromColumn && r.Cells != nil:
		return r.Cells.Text(o.index)
	case o.source == fromNamespace:
		return r.Envelope.Key().Namespace(), true
	}
	v := o.Value(r)
	return v.Text, v.Kind == api.String || v.Kind == api.Null
}

// Kind returns the type of the values, which may also be null.
func (o *Operand) Kind() api.ValueKind { return o.kind }

// Column returns the index of the column that Value reads, or -1.
func (o *Operand) Column() int {
	if o.source != fromColumn {
		return -1
	}
	return o.index
}

// NeedsCells reports whether Value reads a column or field of a row.
func (o *Operand) NeedsCells() bool { return o.source == fromColumn || o.source == fromField }

// NeedsLabels reports whether Value reads the labels of a row.
func (o *Operand) NeedsLabels() bool { return o.source == fromLabel }

// Fixed reports whether the value derives from the key and never changes.
func (o *Operand) Fixed() bool { return o.source <= fromNamespace }

// Same reports whether the operand certainly has the same value in two versions of an
// object. The argument unchanged contains the cells that are equal in both versions, and
// sameLabels states whether the labels are equal.
func (o *Operand) Same(unchanged api.Cells, sameLabels bool) bool {
	return o.Fixed() || unchanged.Has(o.cell) || sameLabels && o.source == fromLabel
}

func text(s string) api.Value { return api.Value{Kind: api.String, Text: s} }

// UnknownName returns the 400 for a name that Resolve does not find. The verb, such as
// "sort", is the operation that uses the name. The error suggests a similar name and
// lists all names.
func UnknownName(schema *api.Schema, verb, name string) *api.Status {
	return api.BadRequest("cannot " + verb + " " + schema.Resource.String() + " by " + lite.Quote(name) + ": " + unknownName(schema, name))
}

func unknownName(schema *api.Schema, name string) string {
	var names []string
	for _, c := range schema.Columns {
		names = append(names, c.Name)
	}
	names = append(names, schema.Fields...)
	message := "there is no such column or field; "
	if _, ok := member(name, "annotations"); ok {
		message = "there is no column that shows this annotation; "
	} else if similar := closest(name, names); similar != "" {
		message += "did you mean " + similar + "? "
	}
	return message + "there are " + lite.Join(names, ", ")
}

// closest returns the candidate with the fewest edits from a name, if the edits are at
// most a third of the name's length. Otherwise it returns "".
func closest(name string, candidates []string) string {
	best, least := "", len(name)/3+1
	for _, c := range candidates {
		if d := distance(name, c, least); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance returns the number of inserted, removed and replaced characters between two
// names, ignoring ASCII case. It returns bound if the lengths alone differ by at least
// bound.
func distance(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if !lite.EqualFold(a[i:i+1], b[j:j+1]) {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
