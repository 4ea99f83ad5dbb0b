package source

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Source lists and watches resources. Safe for concurrent use; the connector
// runs one Stream per resource.
type Source interface {
	// Schema describes a resource, or returns a 404 *api.Status that names
	// the ones there are. The schema is shared: read only.
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
	// over are gone (compaction, also during a list) or never were (a from
	// beyond the newest revision), and the caller has to list anew. A source
	// that may itself be behind answers the latter with a 504. Any other error
	// can be retried with the last revision handed over. When ctx has ended
	// the error is that of ctx, and an error of sink is returned as it is. A
	// *SchemaChangedError says that the resource is described differently now.
	Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink Sink) error
}

// Identifier is a source that can say which history its revisions belong to
// before anything is streamed: the name that it identifies streams by.
type Identifier interface {
	Identity(ctx context.Context) (string, error)
}

// Prober is a source that can report whether it answers requests. The connector
// probes it about once a second while a collection is stale, so a probe must be cheap.
type Prober interface {
	Ready(ctx context.Context) error
}

// Sink takes what a source streams. Its methods may block: that is how a slow
// consumer holds a source back. A non-nil error stops Stream, which returns it.
//
// Byte slices belong to the sink only until the call returns.
type Sink interface {
	// Identify is called once, before anything else. The name stands for the
	// history that revisions belong to, such as one etcd cluster: a revision
	// means the same wherever the name is the same, and nothing elsewhere.
	Identify(name string) error
	// BeginList announces the whole state. A list that did not come to its end
	// is forgotten.
	BeginList() error
	// Object is one object of the list, rv the revision of its last change.
	Object(key api.Key, rv api.ResourceVersion, value []byte) error
	// EndList completes the list, which is the state as of revision rv: what
	// was not named does not exist. It counts as progress: rv was the newest
	// revision when the list was asked for, or a later one.
	EndList(rv api.ResourceVersion) error
	// Changes are all changes of one or more whole revisions, in order: a
	// revision is never split over two calls.
	Changes(changes []Change) error
	// Progress says that every change up to and including rv was handed over, and
	// that there was no other a moment ago. Changes say no such thing: they may
	// come late, and readers of a source that hands over nothing else call their
	// data stale.
	// A source that can reports it at least every ten seconds, idle or not.
	Progress(rv api.ResourceVersion) error
	// Wanted receives when somebody waits for progress, every now and then for
	// as long as that lasts. A source that can ask for progress does so then,
	// instead of at its own pace (rule C35). Nil is never. It may be called from
	// any goroutine.
	Wanted() <-chan struct{}
}

// Change is one change of one object. Value is the new raw JSON, nil for a
// deletion; an empty value that is not nil is a (broken) value. Changes of one
// transaction share a revision.
type Change struct {
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Value           []byte
}

// SchemaChangedError ends a stream whose resource is described differently now,
// as after a change of a CustomResourceDefinition. Ask for its Schema again, and
// list it anew: fields and columns of what was handed over may differ.
type SchemaChangedError struct{ Resource api.Resource }

// Error implements error.
func (e *SchemaChangedError) Error() string {
	return "resource " + e.Resource.String() + " is described differently now: ask for its schema again"
}
