package objcache

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// ID identifies an object by resource, such as "v1/secrets", and key.
type ID struct {
	Resource string
	Key      api.Key
}

// validate returns an error if the ID is malformed.
func (id ID) validate() *api.Status {
	if _, err := api.ParseResource(id.Resource); err != nil {
		return api.AsStatus(err)
	}
	namespace, name, namespaced := lite.Cut(string(id.Key), '/')
	if !namespaced {
		namespace, name = "-", namespace
	}
	if namespace == "" || name == "" || strings.IndexByte(name, '/') >= 0 {
		return api.BadRequest("the key of an object is namespace/name, or the name of one that has no namespace; got " +
			quote(string(id.Key)))
	}
	return nil
}

// Object is one version of an object in a store. Labels, envelope and dictionary belong
// to the source and may change with the next call to the cache.
type Object struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	Labels          api.Labels
	Envelope        wire.Envelope
	Base            api.Body // the base of a delta body
	Dictionary      []byte   // dictionary of Base and of the body
}

func (o *Object) clone() *Object {
	c := *o
	c.Labels = slices.Clone(o.Labels)
	for i, l := range c.Labels {
		c.Labels[i] = api.Label{Key: lite.Clone(l.Key), Value: lite.Clone(l.Value)}
	}
	c.Envelope = slices.Clone(o.Envelope)
	c.Base.Data = slices.Clone(o.Base.Data)
	c.Dictionary = slices.Clone(o.Dictionary)
	return &c
}

// Version is a position in the history of a cluster. Versions of different clusters are
// not comparable.
type Version struct {
	ClusterID       string
	ResourceVersion api.ResourceVersion
}

// behind reports whether v is older than w in the same cluster.
func (v Version) behind(w Version) bool {
	return v.ClusterID == w.ClusterID && v.ResourceVersion < w.ResourceVersion
}

// Source is a collection that supplies an object to the cache. The cache only reads
// sources, and compares them with ==.
type Source interface {
	// State returns how current the source is, and the reason for this state or nil.
	State() (api.State, *api.Status)
	// Version returns the version of the source. It returns false before the
	// source has loaded.
	Version() (Version, bool)
	// Find returns the object, or false if there is none.
	Find(key api.Key) (Object, bool)
	// Fault returns why the newest version of an object cannot be read, or nil.
	Fault(key api.Key) *api.Status
}

// Upstream is the interface that the program implements for the cache.
type Upstream interface {
	// Covering returns a loaded source that is open for other reasons and includes the
	// object if it exists, or nil. If several sources qualify, Covering prefers the
	// source "current".
	Covering(id ID, current Source) Source
	// Open starts a list and watch of this object alone. The first state of the source
	// must not be older than minimum.
	Open(id ID, minimum Version) Source
	// Close releases a source that Open returned.
	Close(Source)
}
