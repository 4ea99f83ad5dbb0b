package kubeapi

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/internal/cells"
)

// columnDefinition is an element of a table's columnDefinitions.
type columnDefinition struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    uint8  `json:"priority"`
}

var nameColumn = columnDefinition{
	Name: "Name", Type: "string", Format: "name", Description: "The name of the object, unique in its namespace.",
}

func definitions(s *api.Schema) []columnDefinition {
	var all []columnDefinition
	name := catalog.NameColumn(s)
	if name < 0 {
		all = append(all, nameColumn)
	}
	for i, c := range s.Columns {
		if c.Hidden() {
			continue
		}
		d := columnDefinition{Name: c.Name, Type: columnType(c.Kind), Description: "The value at " + c.Path + ".", Priority: c.Priority}
		if c.Printer != "" {
			d.Description = "What kubectl prints."
		}
		if i == name {
			d.Format = nameColumn.Format
		}
		all = append(all, d)
	}
	return all
}

func columnType(k api.ValueKind) string {
	switch k {
	case api.Bool:
		return "boolean"
	case api.Integer:
		return "integer"
	case api.Number:
		return "number"
	case api.Date:
		return "date"
	}
	return "string"
}

// appendTableHead appends the part of a table before its first row. Only the first table of
// a watch contains the column definitions (rule P12).
func (enc *encoder) appendTableHead(dst []byte, meta listMeta) []byte {
	dst = append(dst, `{"kind":"`+asTable+`","apiVersion":"`+metaVersion+`","metadata":`...)
	dst = appendJSON(dst, meta)
	dst = append(dst, `,"columnDefinitions":`...)
	if enc.headed {
		dst = append(dst, "null"...)
	} else {
		dst = appendJSON(dst, definitions(enc.schema))
		enc.headed = true
	}
	return append(dst, `,"rows":[`...)
}

// appendRow appends an object as a row.
func (enc *encoder) appendRow(dst []byte, o Object, include include) []byte {
	dst = append(dst, `{"cells":[`...)
	name := catalog.NameColumn(enc.schema)
	if name < 0 {
		dst = appendText(dst, o.Key().Name())
	}
	for i := range enc.schema.Columns {
		c := &enc.schema.Columns[i]
		if c.Hidden() {
			continue
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = enc.appendCell(dst, c, o.Column(i))
	}
	dst = append(dst, `],"object":`...)
	switch include {
	case includeNone:
		dst = append(dst, "null"...)
	case includeObject:
		dst = enc.appendObject(dst, o.JSON())
	default:
		dst = appendMetadata(dst, o.JSON())
	}
	return append(dst, '}')
}

// appendCell appends a value. Numbers and bools keep their JSON type, and all other values
// become strings. A missing value of a column without a default becomes null.
func (enc *encoder) appendCell(dst []byte, c *api.Column, v api.Value) []byte {
	text := cells.Text(c, v, enc.now)
	switch {
	case v.Kind == api.Null && text == "":
		return append(dst, "null"...)
	case v.Kind == api.Bool, v.Kind == api.Integer && v.Time == 0, v.Kind == api.Number && text != "" && text != c.Default:
		return append(dst, text...)
	}
	return appendText(dst, text)
}
