package kube

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// definition contains the parts of a CustomResourceDefinition that determine the schema
// of one version. The zero value means that no CustomResourceDefinition exists or can be
// read.
type definition struct {
	generation int64 // metadata.generation, which changes with the spec
	fields     []string
	columns    []api.Column
}

// crd is the part of a CustomResourceDefinition that the source decodes.
type crd struct {
	Metadata struct{ Generation int64 }
	Spec     struct {
		Versions []struct {
			Name                     string
			SelectableFields         []struct{ JSONPath string }
			AdditionalPrinterColumns []struct {
				Name, Type, JSONPath string
				Priority             int
			}
		}
	}
}

// define reads the definition of a custom resource and caches it. The method changed
// compares it with a later definition.
func (c *directory) define(ctx context.Context, r *resource) (*definition, error) {
	d, err := c.read(ctx, r)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.definitions == nil {
		c.definitions = map[api.Resource]*definition{}
	}
	c.definitions[r.Resource] = d
	return d, nil
}

// changed reports whether the definition of a resource has changed since define last read
// it.
func (c *directory) changed(ctx context.Context, r *resource) (bool, error) {
	c.mu.Lock()
	known := c.definitions[r.Resource]
	c.mu.Unlock()
	if known == nil || known.generation == 0 {
		return false, nil
	}
	now, err := c.read(ctx, r)
	return err == nil && now.generation != known.generation, err
}

func (c *directory) read(ctx context.Context, r *resource) (*definition, error) {
	if !strings.Contains(r.Group, ".") {
		return &definition{}, nil // the groups of custom resources are domain names
	}
	var found crd
	err := c.source.getJSON(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+r.Name+"."+r.Group, &found)
	var status *api.Status
	switch {
	case isNotFound(err):
		return &definition{}, nil
	case errors.As(err, &status) && status.Code == http.StatusForbidden:
		c.source.config.Logger.Warn("reading custom resource definitions is forbidden; the resource has only the column Age",
			"resource", r.String(), "error", status.Message)
		return &definition{}, nil
	case err != nil:
		return nil, err
	}
	return c.translate(r, &found), nil
}

// translate returns the definition of the version that r names. It omits columns with
// unsupported paths and logs a warning about each.
func (c *directory) translate(r *resource, found *crd) *definition {
	d := &definition{generation: found.Metadata.Generation}
	for _, v := range found.Spec.Versions {
		if v.Name != r.Version {
			continue
		}
		for _, f := range v.SelectableFields {
			d.fields = append(d.fields, strings.TrimPrefix(f.JSONPath, "."))
		}
		for _, column := range v.AdditionalPrinterColumns {
			translated := api.Column{Name: column.Name, Kind: api.ColumnKind(column.Type), Path: column.JSONPath, Priority: uint8(min(max(column.Priority, 0), api.Hidden-1))}
			if _, err := objectjson.NewScanner(&api.Schema{Resource: r.Resource, Columns: []api.Column{translated}}); err != nil {
				c.source.config.Logger.Warn("omitting a column with an unsupported path",
					"resource", r.String(), "column", column.Name, "jsonPath", column.JSONPath, "error", err)
				continue
			}
			d.columns = append(d.columns, translated)
		}
	}
	return d
}

// schema returns the schema of a resource with this definition.
func (d *definition) schema(r *resource) *api.Schema {
	s := &api.Schema{Resource: r.Resource, Kind: r.Kind, Namespaced: r.namespaced, Fields: []string{"metadata.name"}}
	if r.namespaced {
		s.Fields = append(s.Fields, "metadata.namespace")
	}
	s.Fields = append(s.Fields, d.fields...)
	s.Columns = append(s.Columns, d.columns...)
	if len(d.columns) == 0 { // kube-apiserver also shows the age if a definition has no columns
		s.Columns = append(s.Columns, api.Column{Name: "Age", Kind: api.Date, Path: ".metadata.creationTimestamp"})
	}
	return s
}
