package kubeapi

import (
	"math"
	"strconv"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/internal/age"
)

// columnDefinition is a column definition in a table.
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
	all := []columnDefinition{nameColumn}
	for _, c := range s.Columns {
		all = append(all, columnDefinition{
			Name: c.Name, Type: columnType(c.Kind), Description: "The value at " + c.Path + ".", Priority: c.Priority,
		})
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

// appendTableHead appends the part of a table before its first row. In a watch, only
// the first table has the definitions (rule P12).
func (f *form) appendTableHead(dst []byte, meta listMeta) []byte {
	dst = append(dst, `{"kind":"`+asTable+`","apiVersion":"`+metaVersion+`","metadata":`...)
	dst = appendJSON(dst, meta)
	dst = append(dst, `,"columnDefinitions":`...)
	if f.headed {
		dst = append(dst, "null"...)
	} else {
		dst = appendJSON(dst, definitions(f.schema))
		f.headed = true
	}
	return append(dst, `,"rows":[`...)
}

// appendRow appends an object as a row.
func (f *form) appendRow(dst []byte, o Object, include include) []byte {
	dst = appendText(append(dst, `{"cells":[`...), o.Key().Name())
	for i, c := range f.schema.Columns {
		dst = f.appendCell(append(dst, ','), c.Kind, o.Column(i))
	}
	dst = append(dst, `],"object":`...)
	switch include {
	case includeNone:
		dst = append(dst, "null"...)
	case includeObject:
		dst = f.appendWhole(dst, o.JSON())
	default:
		dst = appendMetadata(dst, o.JSON())
	}
	return append(dst, '}')
}

// appendCell appends a value. Dates become ages, in the format of clients.
func (f *form) appendCell(dst []byte, kind api.ValueKind, v api.Value) []byte {
	switch v.Kind {
	case api.Bool:
		return strconv.AppendBool(dst, v.Int != 0)
	case api.Integer:
		return appendInt(dst, v.Int)
	case api.Number:
		if !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0) {
			return strconv.AppendFloat(dst, v.Float, 'g', -1, 64)
		}
	case api.Date:
		return appendText(dst, age.String(time.Duration(f.now-v.Int)*time.Millisecond))
	case api.String:
		return appendText(dst, v.Text)
	}
	if kind == api.Date {
		return append(dst, `"<unknown>"`...)
	}
	return append(dst, "null"...)
}
