package coretest

import (
	"fmt"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// resource is one resource that the connector serves.
type resource struct {
	schema api.Schema
	cacher *cacher.Cacher
	served *session.Collection // serves the cacher to sessions
	refuse *api.Status         // if set, subscribers receive this status instead of the collection
}

// connector is the serving side: the state of each resource, and the configuration of the
// sessions.
type connector struct {
	session    session.Config
	history    history.Limits
	deltaEpoch uint64 // delta epoch of the cachers; zero if the scenario does not set one
	resources  []*resource
}

func newConnector() *connector {
	c := &connector{session: session.Config{Server: "scenario", Decode: new(body.Decoder).Decode}}
	for _, schema := range schemas() {
		c.resources = append(c.resources, &resource{schema: schema})
	}
	c.reset()
	return c
}

// schemas returns the schemas of the resources that scenarios can use.
func schemas() []api.Schema {
	name := api.Column{Name: "Name", Kind: api.String, Path: ".metadata.name"}
	return []api.Schema{
		objects.Pods(),
		{
			Resource: api.Resource{Version: "v1", Name: "configmaps"}, Kind: "ConfigMap", Namespaced: true,
			Fields: []string{"metadata.name", "metadata.namespace"}, Columns: []api.Column{name},
		},
		{
			Resource: api.Resource{Version: "v1", Name: "nodes"}, Kind: "Node",
			Fields: []string{"metadata.name"}, Columns: []api.Column{name},
		},
		{
			Resource: api.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}, Kind: "PodMetrics", Namespaced: true,
			Fields:  []string{"metadata.name", "metadata.namespace"},
			Columns: []api.Column{{Name: "CPU", Kind: api.String}, {Name: "Memory", Kind: api.String}},
		},
	}
}

// reset discards all state of the connector.
func (c *connector) reset() {
	for _, r := range c.resources {
		c.empty(r)
	}
}

// empty replaces the cacher of a resource with an empty one.
func (c *connector) empty(r *resource) {
	r.cacher = cacher.New(cacher.Config{Schema: r.schema, History: c.history, DeltaEpoch: c.deltaEpoch})
	r.served = session.NewCollection(r.cacher)
}

// restart simulates a restart of the connector: the history is lost, and the state with
// its bases remains.
func (c *connector) restart(now int64) {
	for _, r := range c.resources {
		old := r.cacher
		c.empty(r)
		if old.Ready() {
			r.cacher.Listing().Begin()
			old.State().Ascend("", func(ref store.Ref) bool {
				arena, buffer := old.Arena(), []byte(nil)
				r.cacher.Listing().Object(&cacher.Update{
					ResourceVersion: arena.ResourceVersion(ref), Flags: arena.Flags(ref),
					Labels: arena.LabelsOf(ref), Envelope: arena.Complete(ref, &buffer), Base: baseOf(old, ref),
				})
				return true
			})
			r.cacher.Upstream().SetClusterID(old.Upstream().ClusterID())
			r.cacher.Listing().End(old.ResourceVersion(), now)
		}
	}
}

// baseOf returns the base of a version with its body, or an empty base if there is none.
func baseOf(c *cacher.Cacher, ref store.Ref) wire.Base {
	base := c.Arena().Base(ref)
	if base == 0 {
		return wire.Base{}
	}
	return wire.Base{ResourceVersion: c.Arena().ResourceVersion(base), Body: c.Arena().BaseBody(ref, new([]byte))}
}

func (c *connector) tick(now int64) {
	for _, r := range c.resources {
		r.cacher.Tick(now)
	}
}

// progress makes the source of every listed resource report progress.
func (c *connector) progress(now int64) {
	for _, r := range c.resources {
		if r.cacher.Ready() {
			r.cacher.Progress(r.cacher.ResourceVersion(), now)
		}
	}
}

// Collection implements session.Backend.
func (c *connector) Collection(asked *session.Request) (*session.Collection, *api.Status) {
	r, err := c.find(asked.Resource.String())
	if err != nil {
		return nil, api.NotFound(err.Error())
	}
	return r.served, r.refuse
}

// Release implements session.Backend.
func (c *connector) Release(api.Resource) {}

// Wake implements session.Backend. It does nothing, because the harness polls the
// sessions after every step.
func (c *connector) Wake() {}

func (c *connector) find(name string) (*resource, error) {
	var names []string
	for _, r := range c.resources {
		if r.schema.Resource.String() == name {
			return r, nil
		}
		names = append(names, r.schema.Resource.String())
	}
	return nil, fmt.Errorf("there is no resource %s; there are %s", name, strings.Join(names, ", "))
}

// object returns the object that the text describes in the notation of package objects.
// An object without a body gets a small body.
func (r *resource) object(text string) (put *cacher.Update, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	o := objects.ObjectOf(r.schema, text)
	if o.ResourceVersion == 0 {
		return nil, fmt.Errorf("object %s needs rv=, its resource version", o.Key)
	}
	if o.Body.Codec == api.NoBody {
		o.Body = api.Body{Codec: api.JSON, Data: []byte(fmt.Sprintf(`{"kind":%q,"metadata":{"name":%q}}`, r.schema.Kind, o.Key.Name()))}
	}
	return objects.UpdateOf(o), nil
}

// apply stores an object. If delta is true, it first replaces the body with a delta.
// After storing, it overwrites the envelope, to detect a cacher that retains that buffer.
func (r *resource) apply(put *cacher.Update, delta bool, now int64) error {
	if delta {
		if err := r.difference(put); err != nil {
			return err
		}
	}
	if status := r.cacher.Apply(put, now); status != nil {
		return status
	}
	scribble(put.Envelope)
	return nil
}

// list replaces the whole state. The argument source is the cluster ID that the version
// belongs to; most scenarios leave it empty.
func (r *resource) list(source string, rv api.ResourceVersion, puts []*cacher.Update, now int64) {
	r.cacher.Listing().Begin()
	for _, p := range puts {
		r.cacher.Listing().Object(p)
		scribble(p.Envelope)
	}
	r.cacher.Upstream().SetClusterID(source)
	r.cacher.Listing().End(rv, now)
}
