package backend

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source"
)

const (
	// pageSize is the maximum number of objects that one list of the engine returns.
	pageSize = 500
	// readyTimeout is how long a request waits for a collection's first sync before
	// the client must retry (rule C6).
	readyTimeout = 10 * time.Second
)

// Backend implements kubeapi.Backend with a client. It is safe for concurrent use.
type Backend struct {
	client  *client.Client
	schemas []api.Schema

	mu          sync.Mutex
	collections map[api.Resource]*client.Collection
}

var _ kubeapi.Backend = (*Backend)(nil)

// New returns a backend for the resources of the schemas. The fields and columns of the
// schemas are not used, because the connector defines them. Close does not close the
// client; the caller does.
func New(c *client.Client, schemas []api.Schema) *Backend {
	return &Backend{client: c, schemas: schemas, collections: map[api.Resource]*client.Collection{}}
}

// Close closes all collections that the backend has opened.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, c := range b.collections {
		errs = append(errs, c.Close())
	}
	clear(b.collections)
	return errors.Join(errs...)
}

// Resources implements kubeapi.Backend.
func (b *Backend) Resources(context.Context) ([]kubeapi.Resource, error) {
	all := make([]kubeapi.Resource, len(b.schemas))
	for i := range b.schemas {
		all[i] = kubeapi.Resource(source.Describe(&b.schemas[i]))
	}
	return all, nil
}

// Schema implements kubeapi.Backend. It returns the connector's schema.
func (b *Backend) Schema(ctx context.Context, resource api.Resource) (*api.Schema, error) {
	c, err := b.collection(ctx, resource)
	if err != nil {
		return nil, err
	}
	schema := c.Schema()
	return &schema, nil
}

// collection returns the collection of a resource once it is complete. It returns a 429
// if the collection takes longer than readyTimeout.
func (b *Backend) collection(ctx context.Context, resource api.Resource) (*client.Collection, error) {
	c, err := b.open(ctx, resource)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err = c.WaitForSync(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return nil, api.TooManyRequests("the resource has not been loaded yet, try again: "+err.Error(), 1)
	}
	return c, err
}

func (b *Backend) open(ctx context.Context, resource api.Resource) (*client.Collection, error) {
	if _, err := catalog.Lookup(b.schemas, resource); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.collections[resource]; c != nil && c.Status().State != api.StateClosed {
		return c, nil
	}
	c, err := b.client.Collection(ctx, resource.String(), client.CollectionOptions{})
	if err == nil {
		b.collections[resource] = c
	}
	return c, err
}

// Get implements kubeapi.Backend. The engine's Get does not support a minimum version, so
// a request that sets one uses GetNotOlder.
func (b *Backend) Get(ctx context.Context, resource api.Resource, key api.Key, version string) (kubeapi.Object, error) {
	if version != "" && version != "0" {
		return kubeapi.GetNotOlder(ctx, b, resource, key, version)
	}
	c, err := b.collection(ctx, resource)
	if err != nil {
		return nil, err
	}
	return c.Get(ctx, key)
}

// List implements kubeapi.Backend.
func (b *Backend) List(ctx context.Context, resource api.Resource, o kubeapi.ListOptions) (*kubeapi.List, error) {
	c, err := b.collection(ctx, resource)
	if err != nil {
		return nil, err
	}
	all := o.InPages(pageSize)
	options := client.ListOptions{
		Namespace: o.Namespace, LabelSelector: o.Selection.Labels.String(), FieldSelector: o.Selection.Fields.String(),
		ResourceVersion: o.ResourceVersion, ResourceVersionMatch: matches[o.Match], Limit: o.Limit, Continue: o.Continue,
	}
	first, err := c.List(ctx, options)
	if err != nil {
		return nil, err
	}
	list := &kubeapi.List{ResourceVersion: first.ResourceVersion}
	if !all {
		list.Continue, list.Remaining = first.Continue, first.Remaining
		first.Continue = ""
	}
	list.Items = func(yield func(kubeapi.Object, error) bool) { ranged(ctx, c, options, first, yield) }
	return list, nil
}

// ranged yields the objects of a page, and then reads and yields the following pages.
func ranged(ctx context.Context, c *client.Collection, o client.ListOptions, page client.List, yield func(kubeapi.Object, error) bool) {
	for {
		for _, item := range page.Items {
			if !yield(item, nil) {
				return
			}
		}
		if page.Continue == "" {
			return
		}
		o.ResourceVersion, o.ResourceVersionMatch, o.Continue = "", "", page.Continue
		var err error
		if page, err = c.List(ctx, o); err != nil {
			yield(nil, err)
			return
		}
	}
}

var matches = map[api.Match]client.ResourceVersionMatch{
	api.MatchUnset: "", api.MatchNotOlderThan: client.NotOlderThan, api.MatchExact: client.Exact,
}

// Watch implements kubeapi.Backend.
func (b *Backend) Watch(ctx context.Context, resource api.Resource, o kubeapi.WatchOptions) (kubeapi.Watch, error) {
	c, err := b.collection(ctx, resource)
	if err != nil {
		return nil, err
	}
	options := client.WatchOptions{
		Namespace: o.Namespace, LabelSelector: o.Selection.Labels.String(), FieldSelector: o.Selection.Fields.String(),
		ResourceVersion: o.ResourceVersion, ResourceVersionMatch: matches[o.Match],
		AllowWatchBookmarks: o.Bookmarks, Timeout: time.Duration(o.TimeoutSeconds) * time.Second,
		Policy: client.Terminate,
	}
	if o.SendInitialEvents != api.Unset {
		wanted := o.SendInitialEvents == api.True
		options.SendInitialEvents = &wanted
	}
	w, err := c.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return &watch{w: w}, nil
}

// watch implements kubeapi.Watch with a client.Watch.
type watch struct {
	w      *client.Watch
	events []kubeapi.Event
}

// maxTaken is the maximum number of events that one call of Next returns.
const maxTaken = 100

// Next implements kubeapi.Watch.
func (w *watch) Next(ctx context.Context) ([]kubeapi.Event, error) {
	w.events = slices.Delete(w.events, 0, len(w.events))
	for len(w.events) == 0 || w.w.Buffered() > 0 && len(w.events) < maxTaken {
		e, err := w.w.Next(ctx)
		if err != nil {
			return nil, err
		}
		event := kubeapi.Event{
			Type: e.Type, ResourceVersion: e.ResourceVersion, InitialEventsEnd: e.InitialEventsEnd,
		}
		if e.Type.IsChange() {
			event.Object = e.Object
		}
		w.events = append(w.events, event)
	}
	return w.events, nil
}

// Close implements kubeapi.Watch.
func (w *watch) Close() { _ = w.w.Close() } // the response has ended, so an error has no effect
