package source

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Source lists and watches resources. It is safe for concurrent use. The connector
// runs one Stream per resource.
type Source interface {
	// Schema returns the schema of a resource, or a 404 *api.Status, which suggests
	// resources with similar names. Callers share the schema and must not modify it.
	Schema(ctx context.Context, resource api.Resource) (*api.Schema, error)

	// Resources returns the resources that the source can serve, sorted by name.
	Resources(ctx context.Context) ([]api.Resource, error)

	// Stream passes the state of a resource and its changes to sink until ctx is done or the
	// source fails. It never returns a nil error. Except for Wanted, it calls the methods
	// of sink only from the goroutine that called Stream.
	//
	// If "from" is zero, Stream begins with a list: BeginList, Object for every object in
	// ascending key order, and EndList. The changes follow. Otherwise, it sends no list,
	// and the changes begin right after the version "from".
	//
	// A *api.Status 410 means that a compaction removed the changes after the last
	// delivered revision, or that "from" is greater than the latest revision. The caller
	// must list again. A source that may lag behind the store returns a 504 if "from" is
	// too large. After any other error, the caller can retry from the last delivered
	// revision. If ctx is done, Stream returns ctx.Err(). If a method of sink returns
	// an error, Stream returns it unchanged. A *SchemaChangedError means that the
	// resource has a new schema.
	Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink Sink) error
}

// Identifier is a source that can return the ID of its cluster before a stream starts.
// Streams pass this ID to [Sink.Identify]. For resources that have their own history,
// such as metrics, streams append a suffix to the ID.
type Identifier interface {
	ClusterID(ctx context.Context) (string, error)
}

// Prober is a source that can report whether it answers requests. The connector
// probes it about once a second while a collection is stale, so a probe must be cheap.
type Prober interface {
	Ready(ctx context.Context) error
}

// Sink receives the output of a stream. Its methods may block, which slows the source
// down. If a method returns an error, Stream stops and returns that error.
//
// Byte slices are valid only until the call returns.
type Sink interface {
	// Identify is called once, before the other methods. The ID identifies the history that
	// the revisions belong to, such as that of an etcd cluster. Revisions are comparable
	// only if their IDs are equal.
	Identify(clusterID string) error
	// BeginList begins a list of the complete state. If the stream ends or calls
	// BeginList again before EndList, the sink discards the objects of the incomplete
	// list.
	BeginList() error
	// Object delivers one object of the list. rv is the revision of its last change.
	Object(key api.Key, rv api.ResourceVersion, value []byte) error
	// EndList completes the list, which is the state as of revision rv. Objects that were
	// not listed do not exist. EndList counts as progress, because rv is at least the
	// revision that was the latest when the list was requested.
	EndList(rv api.ResourceVersion) error
	// Changes delivers all changes of one or more complete revisions, in order. A
	// revision is never split over two calls.
	Changes(changes []Change) error
	// Progress reports that all changes up to and including rv were delivered, and that
	// the source has just confirmed that no others exist. A call to Changes does not imply
	// this, because changes may arrive late. Readers of a source that never calls Progress
	// report that their data is stale. If possible, a source calls Progress at least every
	// ten seconds, even if no object changes.
	Progress(rv api.ResourceVersion) error
	// Wanted returns a channel that delivers a value periodically while a reader waits
	// for progress. A source that can request progress does so for each value, without
	// waiting for its own interval (rule C35). The channel may be nil. Wanted may be
	// called from any goroutine.
	Wanted() <-chan struct{}
}

// Change is one change to an object. Value is the new raw JSON, or nil if the object was
// deleted. An empty value that is not nil is an invalid object. Changes in one
// transaction have the same ResourceVersion.
type Change struct {
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Value           []byte
}

// SchemaChangedError reports that a stream ended because its resource has a new schema,
// for example after an update of its CustomResourceDefinition. Call Schema again and
// relist, because the fields and columns of objects that were already delivered may
// differ.
type SchemaChangedError struct{ Resource api.Resource }

// Error implements error.
func (e *SchemaChangedError) Error() string {
	return "resource " + e.Resource.String() + " is described differently now: ask for its schema again"
}
