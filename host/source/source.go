package source

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Source lists and watches resources. Safe for concurrent use; the connector
// runs one Stream per resource.
type Source interface {
	// Schema describes a resource, or returns a 404 *api.Status that names
	// the ones there are.
	Schema(ctx context.Context, resource api.Resource) (*api.Schema, error)

	// Resources are those the source can serve, sorted by name.
	Resources(ctx context.Context) ([]api.Resource, error)

	// Stream feeds sink until ctx ends or the source fails, and returns why;
	// it never returns nil. All calls to sink come from Stream's goroutine.
	//
	// With from zero it begins with a list: BeginList, Object for every object
	// in ascending key order, EndList; then changes. Otherwise there is no
	// list, and changes begin right after from.
	//
	// A *api.Status 410 means that the changes after the last revision handed
	// over are gone (compaction) and the caller has to list anew. Any other
	// error can be retried with the last revision handed over.
	Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink Sink) error
}

// Sink takes what a source streams. Its methods may block: that is how a slow
// consumer holds a source back. A non-nil error stops Stream, which returns it.
//
// Byte slices belong to the sink only until the call returns.
type Sink interface {
	// BeginList announces the whole state as of revision rv.
	BeginList(rv api.ResourceVersion) error
	// Object is one object of the list, rv the revision of its last change.
	Object(key api.Key, rv api.ResourceVersion, value []byte) error
	// EndList completes the list: what was not named does not exist.
	EndList() error
	// Changes are all changes of one or more whole revisions, in order: a
	// revision is never split over two calls.
	Changes(changes []Change) error
	// Progress says that every change up to and including rv was handed over.
	Progress(rv api.ResourceVersion) error
}

// Change is one change of one object. Value is the new raw JSON, nil for a
// deletion. Changes of one transaction share a revision.
type Change struct {
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Value           []byte
}
