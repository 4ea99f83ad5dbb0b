package api

import "strings"

// Resource names a kind of object: group, version and plural name. The core
// group is empty.
type Resource struct{ Group, Version, Name string }

// ParseResource reads "v1/pods" or "apps/v1/deployments".
func ParseResource(text string) (Resource, error) {
	var r Resource
	group, rest, _ := Cut(text, '/')
	version, name, grouped := Cut(rest, '/')
	if grouped {
		r = Resource{Group: group, Version: version, Name: name}
	} else {
		r = Resource{Version: group, Name: version}
	}
	if r.Version != "" && r.Name != "" && grouped == (r.Group != "") && strings.IndexByte(r.Name, '/') < 0 {
		return r, nil
	}
	return Resource{}, BadRequest("invalid resource " + Quote(text) +
		`: expected "version/resource" such as "v1/pods", or "group/version/resource" such as "apps/v1/deployments"`)
}

// APIVersion is "v1" or "apps/v1".
func (r Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// String is the form ParseResource reads.
func (r Resource) String() string { return r.APIVersion() + "/" + r.Name }

// Column is one typed column of a resource's table.
//
// Path is a JSONPath as in a CustomResourceDefinition's printer columns, in
// the subset that core/envelope documents. Kind is the type its cells have; a
// value that is missing or of another type is Null. Priority zero columns show
// in narrow tables, higher ones only in wide ones.
type Column struct {
	Name     string
	Kind     ValueKind
	Path     string
	Priority uint8
}

// ColumnKind is the kind of the cells of a column of a type that a
// CustomResourceDefinition's printer columns can have.
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

// Schema describes one resource to everything that handles its objects without
// decoding them.
type Schema struct {
	Resource   Resource
	Kind       string // "Pod"
	Namespaced bool
	// Fields are the selectable fields, each a dotted path such as
	// "status.phase". metadata.name and, when namespaced, metadata.namespace
	// come first and are derived from the key.
	Fields  []string
	Columns []Column
}

// Field returns the position of a selectable field, or -1.
func (s *Schema) Field(name string) int {
	for i, f := range s.Fields {
		if f == name {
			return i
		}
	}
	return -1
}

// Column returns the position of a column by name, ignoring ASCII case, or -1.
func (s *Schema) Column(name string) int {
	for i := range s.Columns {
		if EqualFold(s.Columns[i].Name, name) {
			return i
		}
	}
	return -1
}
