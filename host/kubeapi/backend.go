package kubeapi

import (
	"context"
	"iter"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// Backend is a cache of Kubernetes objects. Implementations must be safe for concurrent
// use. An *api.Status error is sent to the client; every other error becomes a 500 (rule
// C9).
//
// Canceling a context aborts the call that received it. Canceling the context of List
// also aborts the iteration over the list's items. Canceling the context of Watch
// does not end a running watch.
type Backend interface {
	// Resources returns all served resources. The caller must not modify the slice.
	Resources(ctx context.Context) ([]Resource, error)
	// Schema returns the schema of a resource, or a 404 if the resource is not served.
	// The caller must not modify the result.
	Schema(ctx context.Context, resource api.Resource) (*api.Schema, error)
	// Get returns an object at the given resource version or later (rule C38), or a 404.
	// The version is a string because "" and "0" have different meanings.
	Get(ctx context.Context, resource api.Resource, key api.Key, resourceVersion string) (Object, error)
	// List lists objects according to rules C39 to C52.
	List(ctx context.Context, resource api.Resource, options ListOptions) (*List, error)
	// Watch starts a watch according to rules C8 to C19. It returns an error for invalid
	// options or an unreadable resource. The client receives that error, and no stream
	// begins. [Watch.Next] returns later errors, for example if the version is too old.
	Watch(ctx context.Context, resource api.Resource, options WatchOptions) (Watch, error)
}

// Weigher is a Backend that can estimate the cost of a read before the handler admits the
// read.
type Weigher interface {
	// Weigh waits until a list with these options can be served immediately, and
	// returns the number of objects that the list will visit. If Weigh has to wait, it
	// first calls the function "waiting" once. If "waiting" returns an error, Weigh
	// returns that error.
	Weigh(ctx context.Context, resource api.Resource, options ListOptions, waiting func() error) (objects int, err error)
}

// GetNotOlder implements Get with a minimum resource version for a backend that supports
// the minimum only in List. It calls List with a field selector for the name.
func GetNotOlder(ctx context.Context, b Backend, resource api.Resource, key api.Key, resourceVersion string) (Object, error) {
	named, err := selector.PinName(selector.Fields{}, key.Name())
	if err != nil {
		return nil, err
	}
	list, err := b.List(ctx, resource, ListOptions{
		Namespace: key.Namespace(), Selection: selector.Selection{Fields: named}, ResourceVersion: resourceVersion,
		Match: api.MatchNotOlderThan,
	})
	if err != nil {
		return nil, err
	}
	for o, err := range list.Items {
		if err != nil || o.Key() == key {
			return o, err
		}
	}
	return nil, api.NotFound(string(key) + " not found")
}

// Resource is a resource with its discovery information.
type Resource struct {
	api.Resource
	Kind       string
	Singular   string // lowercase, such as "pod"
	Namespaced bool
	ShortNames []string
	Categories []string
}

// Object is one version of an object.
type Object interface {
	Key() api.Key
	// Column returns the value of the i-th column of the resource's schema.
	Column(i int) api.Value
	// JSON returns the object, including its metadata.resourceVersion.
	JSON() []byte
}

// ListOptions are the options of a Kubernetes list.
type ListOptions struct {
	// Client is the user or address that is charged for selector evaluations.
	Client          string
	Namespace       string
	Selection       selector.Selection
	ResourceVersion string
	Match           api.Match
	Limit           uint32 // zero for all
	Continue        string
}

// List is one page of objects in ascending key order.
type List struct {
	ResourceVersion api.ResourceVersion
	Continue        string // empty on the last page
	Remaining       uint64 // items after this page; zero if unknown
	// Warnings describe objects that are missing from the list.
	Warnings []string
	// Items yields the objects and may be iterated only once. An object is valid until
	// the next one is yielded. After an error the iteration ends, and the list is
	// incomplete.
	Items iter.Seq2[Object, error]
}

// WatchOptions are the options of a Kubernetes watch.
type WatchOptions struct {
	// Client is the user or address that is charged for selector evaluations.
	Client            string
	Namespace         string
	Selection         selector.Selection
	ResourceVersion   string
	Match             api.Match
	SendInitialEvents api.Tristate
	Bookmarks         bool
	// TimeoutSeconds is the duration of the watch. The backend uses it to send a last
	// bookmark shortly before the end (rule W19).
	TimeoutSeconds uint32
}

// Watch is a running watch. Only one goroutine may use it.
type Watch interface {
	// Next waits for at least one event and returns a bounded number of available events in
	// order. The events are valid until the next call to Next. An error reports why the watch
	// ended: io.EOF after a normal end, such as a timeout. The client receives any other error
	// as an ERROR event.
	Next(ctx context.Context) ([]Event, error)
	// Close ends the watch and drops queued events. The caller must call Close exactly
	// once.
	Close()
}

// Event is one event of a watch.
type Event struct {
	Type   api.EventType
	Object Object // the changed object; nil for a bookmark or an error
	// ResourceVersion is the version of the object, or the version that the bookmark
	// reports.
	ResourceVersion api.ResourceVersion
	// InitialEventsEnd marks the bookmark that ends the initial events.
	InitialEventsEnd bool
	Status           *api.Status // status of an ERROR event; the handler creates these events from errors of Next
}
