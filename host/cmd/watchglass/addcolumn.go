package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/join"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/internal/terminal"
)

const addColumnHelp = `

--add-column adds a column of another resource. NAME:join:RESOURCE COLUMN is a column
of the object with the same namespace and name, such as the CPU of pods.
NAME:children:RESOURCES is the number of objects below a row. RESOURCES lists the
resources from the children of the row down to the counted objects, separated by
commas. Append a space and the name of a column of the counted objects to count them by
its value. All added columns must name the same resources. Queries and groups may use
added columns.`

// addedColumns contains the columns of --add-column.
type addedColumns struct {
	specs     []string
	resources []api.Resource // resources of every column: the joined resource, or the path of resources from the children of a row to the counted objects
	columns   []api.Column
}

// checkAdded parses --add-column, and checks that all columns name the same resources.
func (f *readFlags) checkAdded() error {
	a := &f.added
	for _, spec := range a.specs {
		column, resources, err := parseAdded(spec)
		switch {
		case err != nil:
			return err
		case len(a.columns) == 0:
			a.resources = resources
		case column.Printer != a.columns[0].Printer || !slices.Equal(resources, a.resources):
			return fmt.Errorf("--add-column %q: expected join or children, and the resources, as in the first, %q", spec, a.specs[0])
		}
		a.columns = append(a.columns, column)
	}
	if len(a.columns) > 0 && f.columns != nil {
		return errors.New("--add-column: choose another --output than custom-columns")
	}
	return nil
}

// parseAdded parses a column such as "CPU:join:metrics.k8s.io/v1beta1/pods CPU". openAdded
// later sets the kind of a joined column, which comes from the schema of the joined
// resource.
func parseAdded(spec string) (column api.Column, resources []api.Resource, err error) {
	const count, other = "Pods:children:replicasets,pods", "CPU:join:metrics.k8s.io/v1beta1/pods CPU"
	expected := func(what, example string) (api.Column, []api.Resource, error) {
		return column, nil, fmt.Errorf("--add-column %q: expected %s, such as %s", spec, what, example)
	}
	parts := strings.SplitN(spec, ":", 3)
	if len(parts) < 3 || slices.Contains(parts, "") {
		return expected("NAME:join:RESOURCE COLUMN or NAME:children:RESOURCES", count)
	}
	names, of, _ := strings.Cut(parts[2], " ")
	if resources, err = resolveAll(fmt.Sprintf("--add-column %q", spec), strings.Split(names, ",")); err != nil {
		return column, nil, err
	}
	column = api.Column{Name: parts[0], Printer: parts[1], Kind: api.String, Default: "<none>"}
	switch {
	case column.Printer == join.Printer && (len(resources) > 1 || of == ""):
		return expected("one resource, a space and the name of a column after join:", other)
	case column.Printer == join.Children && of == "":
		column.Kind = api.Integer
	case column.Printer != join.Printer && column.Printer != join.Children:
		return expected("join or children after the name", count)
	}
	texts := make([]string, len(resources))
	for i, resource := range resources {
		texts[i] = resource.String()
	}
	if column.Path = strings.Join(texts, ","); of != "" {
		column.Path += " " + of
	}
	return column, resources, nil
}

// openAdded opens the resources of --add-column, and waits for all their objects, so that
// the command prints complete rows. It returns the columns with their kinds. If a resource is
// forbidden or unknown, its columns have no values, and openAdded prints the reason to
// stderr.
func (r *reading) openAdded(ctx context.Context, cl *client.Client, rows *api.Schema) ([]api.Column, error) {
	added := &r.flags.added
	if err := added.checkNames(rows); err != nil {
		return nil, err
	}
	var schema api.Schema // schema of the last resource; the flag can name one of its columns
	for _, resource := range added.resources {
		options := client.CollectionOptions{MetadataOnly: true}
		if rows.Namespaced {
			options.Namespace = r.flags.readNamespace(resource)
		}
		c, err := cl.Collection(ctx, resource.String(), options)
		if err != nil {
			return nil, err
		}
		var status *api.Status
		if err := firstSync(ctx, c, r.flags); errors.As(err, &status) && (status.Code == http.StatusForbidden || status.Code == http.StatusNotFound) {
			fmt.Fprintf(r.stderr, "watchglass: --add-column: no values of %s: %s\n", resource, terminal.Text(status.Error()))
		} else if err != nil {
			return nil, fmt.Errorf("--add-column %q: %w", added.specs[0], err)
		}
		schema = c.Schema()
		if schema.Kind != "" && schema.Namespaced != rows.Namespaced && (rows.Namespaced || added.columns[0].Printer == join.Printer) {
			return nil, fmt.Errorf("--add-column %q: %s and %s are related by namespace and name, and only one of them has namespaces", added.specs[0], rows.Resource, resource)
		}
	}
	columns := slices.Clone(added.columns)
	for i := range columns {
		c := &columns[i]
		_, of, _ := strings.Cut(c.Path, " ")
		if of == "" || schema.Kind == "" {
			continue
		}
		at := schema.Column(of)
		if at < 0 {
			return nil, fmt.Errorf("--add-column %q: %s has no column %q; expected one of %s", added.specs[i], schema.Resource, of, shownNames(&schema))
		}
		if c.Printer == join.Printer {
			c.Kind = schema.Columns[at].Kind
		}
	}
	return columns, nil
}

// checkNames returns an error if the name of an added column already has a meaning in
// queries, for example as a column or field of the rows or as an earlier added column.
func (a *addedColumns) checkNames(rows *api.Schema) error {
	all := *rows
	for i, column := range a.columns {
		if _, used := query.Resolve(&all, column.Name); used {
			return fmt.Errorf("--add-column %q: %s have a column or field %q already; choose another name", a.specs[i], rows.Resource.Name, column.Name)
		}
		all.Columns = append(slices.Clip(all.Columns), column)
	}
	return nil
}

func shownNames(schema *api.Schema) string {
	var names []string
	for i := range schema.Columns {
		if c := &schema.Columns[i]; !c.Hidden() {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// sameAdded reports whether two versions of a row have the same cells in the added
// columns. Added columns can change without a new version of the object.
func (r *reading) sameAdded(a, b client.Object) bool {
	last := len(r.printer.schema.Columns)
	for i := last - len(r.flags.added.columns); i < last; i++ {
		if a.Column(i) != b.Column(i) {
			return false
		}
	}
	return true
}
