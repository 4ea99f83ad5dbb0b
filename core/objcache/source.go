package objcache

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// ID names an object: a resource such as "v1/secrets", and the key in it.
type ID struct {
	Resource string
	Key      api.Key
}

// validate refuses what cannot name an object.
func (id ID) validate() *api.Status {
	if _, err := api.ParseResource(id.Resource); err != nil {
		return api.AsStatus(err)
	}
	namespace, name, namespaced := api.Cut(string(id.Key), '/')
	if !namespaced {
		namespace, name = "-", namespace
	}
	if namespace == "" || name == "" || strings.IndexByte(name, '/') >= 0 {
		return api.BadRequest("the key of an object is namespace/name, or the name of one that has no namespace; got " +
			quote(string(id.Key)))
	}
	return nil
}

// Object is one version of an object, as a store holds it. Labels, envelope
// and dictionary belong to whoever handed it out and may change with the next
// call of the cache.
type Object struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	Labels          api.Labels
	Envelope        wire.Envelope
	Base            api.Body // what the body is the difference from, if it is one
	Dictionary      []byte   // what the bodies are compressed with
}

func (o *Object) clone() *Object {
	c := *o
	c.Labels = slices.Clone(o.Labels)
	for i, l := range c.Labels {
		c.Labels[i] = api.Label{Key: strings.Clone(l.Key), Value: strings.Clone(l.Value)}
	}
	c.Envelope = slices.Clone(o.Envelope)
	c.Base.Data = slices.Clone(o.Base.Data)
	c.Dictionary = slices.Clone(o.Dictionary)
	return &c
}

// Version is how far a source has come. Versions of different histories, such
// as those of two clusters, say nothing about each other.
type Version struct {
	History         string
	ResourceVersion api.ResourceVersion
}

// behind reports whether w was reached before v in the same history.
func (v Version) behind(w Version) bool {
	return v.History == w.History && v.ResourceVersion < w.ResourceVersion
}

// Source is a collection that includes the object. The cache asks and never
// changes it. Sources are compared with ==.
type Source interface {
	// State says how current the source is, and why, where there is a reason.
	State() (wire.State, *api.Status)
	// Version is what everything up to is in; false before the first full load.
	Version() (Version, bool)
	// Find returns the object, or false when there is none.
	Find(key api.Key) (Object, bool)
	// Fault is why the newest version of an object cannot be served, or nil.
	Fault(key api.Key) *api.Status
}

// Upstream is what the cache asks of the program around it.
type Upstream interface {
	// Covering returns a source that is open for other reasons, loaded, and
	// certain to have the object if it exists; nil if there is none. Where
	// there are several it returns current, if that is one of them.
	Covering(id ID, current Source) Source
	// Open starts a list and watch of this object alone. Nothing older than
	// the floor may be served as the first state.
	Open(id ID, floor Version) Source
	// Close gives up what Open returned.
	Close(Source)
}
