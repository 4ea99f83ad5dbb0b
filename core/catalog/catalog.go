// Package catalog contains the schemas of the built-in Kubernetes resources. Its printers
// compute the cells of the columns as kube-apiserver does for kubectl. Every source uses
// the same columns.
package catalog

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// All returns the schemas of the built-in Kubernetes resources in stable versions. The
// schemas contain the fields that Kubernetes selectors support, and the columns that
// kubectl prints, with the same cells. The result is a fresh copy.
//
// A schema has a column Name if tables do not show the plain names of objects, or do
// not sort by them; see [NameColumn].
//
// A field is omitted if its value in selectors differs from the value at its path. A
// selector on an omitted field is rejected, because its results would be wrong. The
// omitted fields are spec.hostNetwork of Pods and spec.unschedulable of Nodes (absent
// means "false"), source of Events (stored as source.component), and status.successful of
// Jobs (stored as status.succeeded).
func All() []api.Schema {
	var all []api.Schema
	each(table[:len(stable)], func(_ string, read func() api.Schema) bool {
		all = append(all, read())
		return true
	})
	return all
}

// Find returns the schema of a resource, or nil. It also finds resources that clusters
// do not serve by default, which All omits.
func Find(resource api.Resource) (found *api.Schema) {
	name := resource.String()
	each(table, func(entry string, read func() api.Schema) bool {
		if entry == name {
			s := read()
			found = &s
		}
		return found == nil
	})
	return found
}

// Lookup returns the schema of a resource, or the 404 *api.Status that [NotServed]
// returns. The result points into schemas and is read-only.
func Lookup(schemas []api.Schema, resource api.Resource) (*api.Schema, error) {
	for i := range schemas {
		if schemas[i].Resource == resource {
			return &schemas[i], nil
		}
	}
	return nil, NotServed(resource, "here", Names(schemas))
}

// Names returns the resources of schemas, sorted by their text form.
func Names(schemas []api.Schema) []api.Resource {
	type named struct {
		text     string
		resource api.Resource
	}
	all := make([]named, len(schemas))
	for i := range schemas {
		all[i] = named{text: schemas[i].Resource.String(), resource: schemas[i].Resource}
	}
	lite.Sort(all, func(a, b *named) bool { return a.text < b.text })
	resources := make([]api.Resource, len(all))
	for i := range all {
		resources[i] = all[i].resource
	}
	return resources
}

// each calls offer for every entry of a table until offer returns false.
func each(rest string, offer func(name string, read func() api.Schema) bool) {
	for rest != "" {
		var head string
		head, rest, _ = lite.Cut(rest, '\n')
		name, words, _ := lite.Cut(head, ' ')
		columns := rest
		for line := " "; line != ""; {
			line, rest, _ = lite.Cut(rest, '\n')
		}
		if !offer(name, func() api.Schema { return parse(name, words, columns) }) {
			return
		}
	}
}

// parse returns the schema of an entry, given the name, the words after the name, and
// the lines with columns.
func parse(name, words, columns string) api.Schema {
	s := api.Schema{Fields: []string{"metadata.name"}}
	s.Resource, _ = api.ParseResource(name)
	var scope, field string
	s.Kind, words, _ = lite.Cut(words, ' ')
	if scope, words, _ = lite.Cut(words, ' '); scope == "namespaced" {
		s.Namespaced, s.Fields = true, append(s.Fields, "metadata.namespace")
	}
	for words != "" {
		field, words, _ = lite.Cut(words, ' ')
		s.Fields = append(s.Fields, field)
	}
	for {
		var line string
		if line, columns, _ = lite.Cut(columns, '\n'); line == "" {
			return s
		}
		s.Columns = append(s.Columns, parseColumn(line))
	}
}

// parseColumn parses the line of a column.
func parseColumn(line string) api.Column {
	var c api.Column
	var word, value, width string
	c.Name, line, _ = lite.Cut(line, '|')
	word, line, _ = lite.Cut(line, '|')
	value, line, _ = lite.Cut(line, '|')
	c.Default, width, _ = lite.Cut(line, '|')
	if c.Kind = api.ColumnKind(word); word == "duration" {
		c.Kind = api.Duration
	}
	if c.Path = value; value[0] != '.' {
		c.Printer, c.Path, _ = lite.Cut(value[:len(value)-1], '(')
	}
	if width == "wide" {
		c.Priority = 1
	}
	return c
}

// NameColumn returns the index of the column that tables show instead of the name of an
// object, or -1.
func NameColumn(s *api.Schema) int {
	for i := range s.Columns {
		if s.Columns[i].Name == "Name" && s.Columns[i].Printer != "" {
			return i
		}
	}
	return -1
}
