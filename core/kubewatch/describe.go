package kubewatch

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/wire"
)

// named returns the identity of the cluster, derived from the uid of its
// kube-system namespace like that of a connector. If the namespace is not
// readable, the identity is the address.
func (f *Feed) named(r *request) (string, error) {
	if r.code == 200 {
		d, err := objectjson.ParseDocument(r.body)
		if err != nil {
			return "", broken(err.Error())
		}
		if uid := d.Member("metadata", "uid").Text(); uid != "" {
			return "kube-" + uid, nil
		}
	}
	return "kube-" + f.cfg.Cluster, nil
}

// identified handles the response with the cluster's identity.
func (f *Feed) identified(r *request) {
	name, err := f.named(r)
	if err != nil {
		f.fail(r, api.AsStatus(err))
		return
	}
	if f.source != "" && f.source != name {
		f.from, f.at, f.floor = 0, 0, 0 // versions of a different history
	}
	f.source = name
	switch known := catalog.Find(f.cfg.Resource); {
	case f.schema != nil:
		f.describe(f.schema)
	case known != nil:
		f.describe(f.layout(known))
	default:
		f.ask(discovery, groupPath(f.cfg.Resource))
	}
}

// discovered handles the discovery response for the resource's group.
func (f *Feed) discovered(r *request) {
	d, err := objectjson.ParseDocument(r.body)
	if err != nil {
		f.fail(r, broken(err.Error()))
		return
	}
	for _, resource := range d.Member("resources").Elements() {
		if resource.Member("name").Text() != f.cfg.Resource.Name {
			continue
		}
		kind := resource.Member("kind").Text()
		if !isKind(kind) {
			f.fail(r, broken(lite.Quote(kind)+" is no name of a kind"))
			return
		}
		f.describe(f.layout(&api.Schema{Kind: kind, Namespaced: resource.Member("namespaced").True()}))
		return
	}
	f.fail(r, api.NotFound("the server has no resource "+f.cfg.Resource.String()))
}

// isKind reports whether a text is a valid kind, which needs no escaping in JSON.
func isKind(text string) bool {
	for i := range len(text) {
		if c := text[i] | 0x20; (c < 'a' || c > 'z') && (text[i] < '0' || text[i] > '9') && text[i] != '-' {
			return false
		}
	}
	return text != ""
}

// layout returns the schema for a resource, given at least its kind and scope.
func (f *Feed) layout(known *api.Schema) *api.Schema {
	s := &api.Schema{
		Resource: f.cfg.Resource, Kind: known.Kind, Namespaced: known.Namespaced, Fields: known.Fields, Columns: f.cfg.Columns,
	}
	if len(s.Columns) == 0 {
		s.Columns = known.Columns
	}
	if len(s.Fields) == 0 {
		s.Fields = []string{"metadata.name"}
		if s.Namespaced {
			s.Fields = append(s.Fields, "metadata.namespace")
		}
	}
	if len(s.Columns) == 0 {
		s.Columns = []api.Column{{Name: "Age", Kind: api.Date, Path: ".metadata.creationTimestamp"}}
	}
	return s
}

// describe sends the schema, and then resumes or lists.
func (f *Feed) describe(schema *api.Schema) {
	if f.schema == nil {
		scanned := *schema
		scanned.Fields = append(slices.Clone(schema.Fields), "apiVersion", "kind")
		scanner, err := objectjson.NewScanner(&scanned)
		if err != nil {
			f.end(api.AsStatus(err))
			return
		}
		f.schema, f.scanner = schema, scanner
	}
	described := &wire.Schema{Schema: *f.schema, Source: f.source}
	switch {
	case !f.cfg.Describe(described): // the subscription has ended
	case f.from != 0:
		f.watch(shortWatch)
	case f.floor > 0:
		f.listAnew()
	default:
		f.list()
	}
}
