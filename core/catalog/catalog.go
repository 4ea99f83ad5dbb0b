// Package catalog contains the schemas of the well-known Kubernetes resources. A
// connector on etcd and an engine that reads Kubernetes directly use it, because
// they have no discovery.
package catalog

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// All returns the schemas of the well-known Kubernetes resources: the fields that
// Kubernetes selectors support, and columns like those of kubectl. The result is
// a fresh copy.
//
// A column is the value at a path. Values that kube-apiserver computes are
// therefore missing, such as the status of a pod, the data of a config map or the
// selector of a network policy. Some are split into several columns: a volume's
// claim, the reference of an autoscaler, the role of a binding. A missing value
// is null, where the server prints words or zeros.
//
// A field is omitted if its value differs from the value at its path, so a
// selector on it is rejected instead of giving wrong results. These are
// spec.hostNetwork of Pods and spec.unschedulable of Nodes (absent means
// "false"), source of Events (is source.component), and status.successful of Jobs
// (is status.succeeded).
func All() []api.Schema {
	var all []api.Schema
	each(func(_ string, read func() api.Schema) bool {
		all = append(all, read())
		return true
	})
	return all
}

// Find returns the schema of a resource, or nil.
func Find(resource api.Resource) (found *api.Schema) {
	name := resource.String()
	each(func(entry string, read func() api.Schema) bool {
		if entry == name {
			s := read()
			found = &s
		}
		return found == nil
	})
	return found
}

// Lookup returns the schema of a resource, or a 404 *api.Status as NotServed
// describes. The result points into schemas and is read-only.
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
	resources := make([]api.Resource, len(schemas))
	for i := range schemas {
		resources[i] = schemas[i].Resource
	}
	lite.Sort(resources, func(a, b *api.Resource) bool { return a.String() < b.String() })
	return resources
}

// each calls offer for every entry of the table until it returns false.
func each(offer func(name string, read func() api.Schema) bool) {
	rest := table
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

// parse parses an entry: the words after its name, and the lines with columns.
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
		var c api.Column
		var word, width string
		c.Name, line, _ = lite.Cut(line, '|')
		word, line, _ = lite.Cut(line, '|')
		c.Path, width, _ = lite.Cut(line, '|')
		c.Kind = api.ColumnKind(word)
		if width == "wide" {
			c.Priority = 1
		}
		s.Columns = append(s.Columns, c)
	}
}
