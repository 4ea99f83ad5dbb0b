package kubewatch

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// identityPath is the path of the object whose uid identifies the cluster.
const identityPath = "/api/v1/namespaces/kube-system"

// readClusterID returns the ID of the cluster, derived from the uid of its kube-system
// namespace. If the namespace is not readable, the ID is derived from Config.ClusterID.
func (c *Client) readClusterID(r *request) (string, error) {
	if r.Code == api.CodeOK {
		d, err := objectjson.ParseDocument(r.Body)
		if err != nil {
			return "", broken(err.Error())
		}
		if uid := d.Member("metadata", "uid").Text(); uid != "" {
			return "kube-" + uid, nil
		}
	}
	return "kube-" + c.cfg.ClusterID, nil
}

// identified handles the response with the cluster's identity. It then passes the schema
// to the handler, or requests discovery if the schema is unknown.
func (c *Client) identified(r *request) {
	name, err := c.readClusterID(r)
	if err != nil {
		c.fail(r, api.AsStatus(err))
		return
	}
	if c.clusterID != "" && c.clusterID != name {
		c.from, c.at, c.minimum = 0, 0, 0 // the versions belong to a different history
	}
	c.clusterID = name
	known := catalog.Find(c.cfg.Resource)
	if c.schema == nil && known == nil {
		c.phase = discovering
		c.fetch(discovery, Request{Path: groupPath(c.cfg.Resource), Timeout: c.cfg.RequestTimeout})
		return
	}
	c.describe(known)
}

// discovered takes the kind of the resource from the discovery response for the group.
func (c *Client) discovered(r *request) {
	d, err := objectjson.ParseDocument(r.Body)
	if err != nil {
		c.fail(r, broken(err.Error()))
		return
	}
	for _, resource := range d.Member("resources").Elements() {
		if resource.Member("name").Text() != c.cfg.Resource.Name {
			continue
		}
		kind := resource.Member("kind").Text()
		if !isKind(kind) {
			c.fail(r, broken(lite.Quote(kind)+" is not the name of a kind"))
			return
		}
		c.describe(&api.Schema{Kind: kind, Namespaced: resource.Member("namespaced").True()})
		return
	}
	c.fail(r, api.NotFound("the server has no resource "+c.cfg.Resource.String()))
}

// isKind reports whether the text is not empty and has only letters, digits and hyphens.
// A kind of these characters needs no escaping in JSON.
func isKind(text string) bool {
	for i := range len(text) {
		if c := text[i] | 0x20; (c < 'a' || c > 'z') && (text[i] < '0' || text[i] > '9') && text[i] != '-' {
			return false
		}
	}
	return text != ""
}

// layout returns the known schema with the configured columns. If the schema has no
// fields or no columns, layout adds default ones, so a kind and a scope suffice as the
// known schema.
//
//go:noinline
func (c *Client) layout(known *api.Schema) *api.Schema {
	s := &api.Schema{
		Resource: c.cfg.Resource, Kind: known.Kind, Namespaced: known.Namespaced, Fields: known.Fields, Columns: c.cfg.Columns,
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
		s.Columns = []api.Column{{Name: "Age", Kind: api.Date, Path: api.CreationPath}}
	}
	return s.WithTimes()
}

// describe passes the schema to the handler, and then resumes or lists. If the client
// already has a schema, that schema takes precedence.
func (c *Client) describe(known *api.Schema) {
	if c.schema == nil && !c.compile(c.layout(known)) {
		return
	}
	if c.cfg.Handler.Describe(c.schema, c.clusterID) {
		c.begin()
	}
}

// compile prepares the scanner for a schema. If the schema is invalid, it ends the run
// and returns false.
func (c *Client) compile(schema *api.Schema) bool {
	scanned := *schema
	scanned.Fields = append(slices.Clone(schema.Fields), "apiVersion", "kind")
	scanner, err := catalog.NewScanner(&scanned)
	if err != nil {
		c.End(api.AsStatus(err))
		return false
	}
	c.schema, c.scanner = schema, scanner
	return true
}
