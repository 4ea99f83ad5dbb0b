package source

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Source lists and watches resources. It is safe for concurrent use. The connector
// runs one Stream per resource.
type Source interface {
	// Schema describes a resource, or returns a 404 *api.Status that names the
	// existing ones. Do not modify the shared schema.
	Schema(ctx context.Context, resource api.Resource) (*api.Schema, error)

	// Resources returns the resources that the source can serve, sorted by name.
	Resources(ctx context.Context) ([]api.Resource, error)

	// Stream feeds sink until ctx ends or the source fails, and returns the reason.
	// It never returns nil. All calls to sink come from Stream's goroutine.
	//
	// If from is zero, it begins with a list: BeginList, Object for every object in
	// ascending key order, EndList; then changes. Otherwise changes begin right
	// after from, without a list.
	//
	// A *api.Status 410 means that a compaction removed the changes after the last
	// delivered revision, or that from is beyond the latest revision. The caller
	// must list again. A source that may itself lag returns a 504 in the latter
	// case. Any other error can be retried from the last delivered revision. After
	// the end of ctx, Stream returns the error of ctx. It returns an error of sink
	// unchanged. A *SchemaChangedError means that the resource has a new schema.
	Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink Sink) error
}

// Identifier is a source that can return the ID of its cluster before a stream starts.
// Streams pass this ID to Identify, with a suffix for some resources.
type Identifier interface {
	ClusterID(ctx context.Context) (string, error)
}

// Prober is a source that can report whether it answers requests. The connector
// probes it about once a second while a collection is stale, so a probe must be cheap.
type Prober interface {
	Ready(ctx context.Context) error
}

// Sink receives the output of a stream. Its methods may block, which slows the
// source down. A non-nil error stops Stream, which returns it.
//
// Byte slices are valid only until the call returns.
type Sink interface {
	// Identify is called once, before the other methods. The ID identifies the
	// history of the revisions, such as an etcd cluster. Equal revisions are only
	// comparable if the IDs are equal.
	Identify(clusterID string) error
	// BeginList begins a complete state. An incomplete list is discarded.
	BeginList() error
	// Object delivers one object of the list. rv is the revision of its last change.
	Object(key api.Key, rv api.ResourceVersion, value []byte) error
	// EndList completes the list, which is the state as of revision rv. Objects that
	// were not listed do not exist. EndList counts as progress: rv was the latest
	// revision when the list was requested, or later.
	EndList(rv api.ResourceVersion) error
	// Changes delivers all changes of one or more complete revisions, in order. A
	// revision is never split over two calls.
	Changes(changes []Change) error
	// Progress reports that all changes up to and including rv were delivered, and
	// that the source has just confirmed that no others exist. Changes does not
	// imply this, because changes may arrive late. Readers of a source that never
	// calls Progress report stale data. If possible, a source calls it at least
	// every ten seconds, even if idle.
	Progress(rv api.ResourceVersion) error
	// Wanted returns a channel that receives periodically while a reader waits for
	// progress. A source that can request progress does so then, instead of at its
	// own interval (rule C35). A nil channel never receives. Wanted may be called
	// from any goroutine.
	Wanted() <-chan struct{}
}

// Change is one change of one object. Value is the new raw JSON, nil for a deletion.
// An empty value that is not nil is an invalid object. Changes of one transaction
// share a revision.
type Change struct {
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Value           []byte
}

// SchemaChangedError ends a stream whose resource has a new schema, for example
// after a change of a CustomResourceDefinition. Request the Schema again and relist,
// because fields and columns of delivered objects may differ.
type SchemaChangedError struct{ Resource api.Resource }

// Error implements error.
func (e *SchemaChangedError) Error() string {
	return "resource " + e.Resource.String() + " is described differently now: ask for its schema again"
}
