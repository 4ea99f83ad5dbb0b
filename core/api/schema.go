package api

import (
	"strings"

	"github.com/watchglass/watchglass/core/internal/lite"
)

// Resource names a kind of object by group, version and plural name. Group is
// empty for the core group.
type Resource struct{ Group, Version, Name string }

// ParseResource parses text such as "v1/pods" or "apps/v1/deployments". It returns a
// 400 BadRequest for text of any other form.
func ParseResource(text string) (Resource, error) {
	var r Resource
	group, rest, _ := lite.Cut(text, '/')
	version, name, grouped := lite.Cut(rest, '/')
	if grouped {
		r = Resource{Group: group, Version: version, Name: name}
	} else {
		r = Resource{Version: group, Name: version}
	}
	if r.Version != "" && r.Name != "" && grouped == (r.Group != "") && strings.IndexByte(r.Name, '/') < 0 {
		return r, nil
	}
	return Resource{}, BadRequest("invalid resource " + lite.Quote(text) +
		`: expected "version/resource" such as "v1/pods", or "group/version/resource" such as "apps/v1/deployments"`)
}

// APIVersion returns the apiVersion, such as "v1" or "apps/v1".
//
//go:noinline
func (r Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// String returns the form that ParseResource parses.
//
//go:noinline
func (r Resource) String() string { return r.APIVersion() + "/" + r.Name }

// Column is one typed column of a resource's table.
//
// Path is a JSONPath as in the printer columns of a CustomResourceDefinition, in the
// subset that core/objectjson documents. Kind is the type of the cells. A value that is
// missing or has another type becomes Null. Narrow tables show only columns of priority
// zero. No table shows columns of priority Hidden, which are for queries and for the
// times of rows.
//
// If Printer is empty, a cell is the value at Path. Otherwise Printer names a function of
// core/catalog that computes the cells. Path then contains the arguments of that
// function: zero or more paths, separated by spaces.
//
// Default replaces missing values. In a column of kind Integer or Bool, Default
// becomes the value of the cell. In other columns the cell stays Null, and tables
// show Default.
type Column struct {
	Name     string
	Kind     ValueKind
	Path     string
	Priority uint8
	Printer  string
	Default  string
}

// Hidden is the priority of columns that no table shows.
const Hidden = 255

// Hidden reports whether no table shows the column.
func (c *Column) Hidden() bool { return c.Priority == Hidden }

// CreationPath and DeletionPath are the paths of the columns that WithTimes adds. The
// last member of each path is the name of the column.
const (
	CreationPath = ".metadata.creationTimestamp"
	DeletionPath = ".metadata.deletionTimestamp"
)

// WithTimes returns the schema with a column for the creation time and one for the
// deletion time of objects. It adds only missing columns, with priority Hidden.
func (s *Schema) WithTimes() *Schema {
	with := *s
	with.Columns = s.Columns[:len(s.Columns):len(s.Columns)]
	for _, path := range [...]string{CreationPath, DeletionPath} {
		if s.TimeColumn(path) < 0 {
			with.Columns = append(with.Columns, Column{Name: path[len(".metadata."):], Kind: Date, Path: path, Priority: Hidden})
		}
	}
	return &with
}

// TimeColumn returns the index of the Date column with the given path, or -1.
func (s *Schema) TimeColumn(path string) int {
	for i := range s.Columns {
		if c := &s.Columns[i]; c.Kind == Date && c.Path == path && c.Printer == "" {
			return i
		}
	}
	return -1
}

// ColumnKind returns the cell type for the type of a printer column in a
// CustomResourceDefinition.
func ColumnKind(openAPIType string) ValueKind {
	switch openAPIType {
	case "integer":
		return Integer
	case "number":
		return Number
	case "boolean":
		return Bool
	case "date":
		return Date
	}
	return String
}

// Schema describes the selectable fields and the columns of one resource. It lets
// other packages handle objects without decoding them.
type Schema struct {
	Resource   Resource
	Kind       string // such as "Pod"
	Namespaced bool
	// Fields are the selectable fields, each a dotted path such as
	// "status.phase". The first field is metadata.name, followed by
	// metadata.namespace if the resource is namespaced. Both are derived from the
	// key.
	Fields  []string
	Columns []Column
}

// Field returns the index of a selectable field, or -1.
func (s *Schema) Field(name string) int {
	for i, f := range s.Fields {
		if f == name {
			return i
		}
	}
	return -1
}

// Column returns the index of the column with the given name, ignoring ASCII
// case, or -1.
func (s *Schema) Column(name string) int {
	for i := range s.Columns {
		if lite.EqualFold(s.Columns[i].Name, name) {
			return i
		}
	}
	return -1
}
