package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// CollectionOptions select the part of a resource that a collection contains. The zero
// value selects the whole resource.
type CollectionOptions struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
	// MetadataOnly omits the objects' JSON. Keys, labels, fields and columns remain.
	MetadataOnly bool
	// Columns replaces the default columns of the connector. The connector computes these
	// columns from the objects' JSON, even with MetadataOnly. Each column has a name, a
	// kind and a path, and no printer. If the connector is too old to compute columns, the
	// collection closes with the cause ColumnsUnsupported.
	//
	// Columns with the Printer "join" are added to the default columns, but only in views.
	// Each shows a column of the object with the same key in another resource. The Path is
	// the other resource and the name of the column in that resource, such as
	// "metrics.k8s.io/v1beta1/pods CPU". All join columns must name the same resource,
	// which the client reads with its own rights. While that resource cannot be read, the
	// cells are Null, and [Status.Err] of the live collection contains the reason.
	//
	// Columns with the Printer "children" count the objects below each row. The Path
	// lists the resources from the row's children down to the counted objects, separated
	// by commas. The column is then an Integer with the number of objects. A space and
	// the name of a column of the objects may follow, as in "apps/v1/replicasets,v1/pods
	// Status" for a Deployment. The column is then a String with the number of objects
	// per value, the most frequent value first, such as "Running 3, Pending 1".
	Columns []api.Column
	// RowsFirst loads all rows before the bodies. Views and lists without bodies are
	// complete as soon as all rows have arrived. Get loads the body of the requested object
	// before the other bodies. Watches and lists with bodies start when all bodies have
	// arrived. If bodies exceed the memory limit, the collection continues without bodies,
	// and only watches with MetadataOnly continue.
	RowsFirst bool
	// Restore yields the stored chunks of [Collection.Snapshot]: those of a complete state,
	// followed by those of later changes. The collection starts with the stored state,
	// reports how old that state is, and resumes from its version. See
	// [Collection.RestoreError].
	Restore iter.Seq[[]byte]
}

// Status describes how current a collection is. The existing data stays readable in
// every state.
type Status struct {
	State           api.State
	ResourceVersion api.ResourceVersion // all changes up to this version are included
	LastProgress    time.Time           // time of the connector's last progress report; zero for never
	NextAttempt     time.Time           // time of the next attempt to reconnect; zero if none is scheduled
	Objects         uint64
	Loaded, Total   uint64 // objects of the current snapshot; Total is approximate
	Bodies          uint64 // objects whose body has arrived, with RowsFirst
	Err             error  // the reason for the state, if it has one
}

// absent reports whether the last attempt has found that the resource does not exist, and no
// other attempt is running.
func (s *Status) absent() bool {
	return s.State == api.StateConnecting && !s.NextAttempt.IsZero() && errors.Is(s.Err, api.NotFound(""))
}

// Collection is a resource, or part of one, that the client keeps up to date.
type Collection struct {
	client   *Client
	id       uint32
	resource string
	opts     CollectionOptions

	restoring  *Instance // the instance that receives the restored state
	restoreErr error     // written before Collection returns

	status latest[collectionStatus]
	schema latest[api.Schema]
}

type collectionStatus struct {
	Status
	synced bool // the collection was live at least once since the engine started
}

// Collection opens a resource such as "v1/pods" or "apps/v1/deployments". It does not
// wait for data: see WaitForSync. Collections with the same scope share one store and one
// subscription.
func (c *Client) Collection(ctx context.Context, resource string, opts CollectionOptions) (*Collection, error) {
	col := &Collection{client: c, resource: resource, opts: opts}
	err := c.call(ctx, func(l *loop) error {
		col.id = l.newID()
		l.collections[col.id] = col
		col.restoring = l.instance
		if err := l.step(col.command(opts.Restore != nil)); err != nil {
			l.dropCollection(col, err)
		}
		if l.collections[col.id] == nil { // the engine refused the collection immediately
			return col.Status().Err
		}
		return nil
	})
	if err == nil && opts.Restore != nil {
		if err = col.restore(ctx, opts.Restore); err != nil {
			_ = col.Close() // otherwise the engine would wait for the remaining chunks
		}
	}
	if err != nil {
		return nil, err
	}
	return col, nil
}

func (c *Collection) command(restore bool) []byte {
	return (&wire.OpenCollection{
		Collection: c.id, Resource: c.resource, Namespace: c.opts.Namespace,
		LabelSelector: c.opts.LabelSelector, FieldSelector: c.opts.FieldSelector, MetadataOnly: c.opts.MetadataOnly,
		RowsFirst: c.opts.RowsFirst, Restore: restore, Columns: c.opts.Columns,
	}).Append(nil)
}

// Status returns the newest status.
func (c *Collection) Status() Status {
	status, _ := c.status.get()
	return status.Status
}

// StatusChange returns the status and a channel that is closed when the status changes.
func (c *Collection) StatusChange() (Status, <-chan struct{}) {
	status, changed := c.status.get()
	return status.Status, changed
}

// Schema returns the description of the objects' fields and columns. The schema is zero
// until the connector has sent it. WaitForSync does not succeed before the schema arrives.
func (c *Collection) Schema() api.Schema {
	schema, _ := c.schema.get()
	return schema
}

// WaitForSync waits until the collection is complete for the first time. It fails if the
// connector refuses the collection or does not serve the resource. The collection retries
// after a 401, 403 or 404, so a later WaitForSync may succeed.
func (c *Collection) WaitForSync(ctx context.Context) error {
	for {
		status, changed := c.status.get()
		switch {
		case status.State == api.StateForbidden, status.State == api.StateClosed, status.absent():
			return fmt.Errorf("%s: %w", c.resource, status.Err)
		case status.synced:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return c.notSynced(ctx.Err(), status.Status)
		case <-c.client.loop.ctx.Done():
			return ErrClosed
		}
	}
}

// notSynced adds the resource and the state of the collection to the error of a context.
func (c *Collection) notSynced(err error, status Status) error {
	if status.Err != nil {
		return fmt.Errorf("%s: %w while %s: %w", c.resource, err, status.State, status.Err)
	}
	return fmt.Errorf("%s: %w while %s", c.resource, err, status.State)
}

// Get returns one object with its JSON. It returns a 404 *api.Status if no object
// has that key.
func (c *Collection) Get(ctx context.Context, key api.Key) (Object, error) {
	var object Object
	err := c.client.request(ctx, func(id uint32) []byte {
		return (&wire.Get{Request: id, Collection: c.id, Key: key}).Append(nil)
	}, func(reply any) { object = newObject(&reply.(*wire.ObjectReply).Item) })
	if err != nil {
		return Object{}, err
	}
	return object, nil
}

// ResourceVersionMatch selects how a resource version is interpreted, as in
// Kubernetes.
type ResourceVersionMatch string

// The values of resourceVersionMatch.
const (
	NotOlderThan ResourceVersionMatch = "NotOlderThan"
	Exact        ResourceVersionMatch = "Exact"
)

func (m ResourceVersionMatch) wire() (api.Match, error) {
	switch m {
	case "":
		return api.MatchUnset, nil
	case NotOlderThan:
		return api.MatchNotOlderThan, nil
	case Exact:
		return api.MatchExact, nil
	}
	return 0, api.Invalid(fmt.Sprintf("resourceVersionMatch %q: must be NotOlderThan, Exact or empty", string(m)))
}

// ListOptions are the options of a Kubernetes list.
type ListOptions struct {
	Namespace            string
	LabelSelector        string
	FieldSelector        string
	ResourceVersion      string
	ResourceVersionMatch ResourceVersionMatch
	Limit                uint32 // zero for all
	Continue             string
	MetadataOnly         bool // omit the objects' JSON
}

// List is one page of objects in ascending key order, all as of one resource
// version.
type List struct {
	Items           []Object
	ResourceVersion api.ResourceVersion
	Continue        string // empty on the last page
	Remaining       uint64 // items after this page; zero if unknown
}

// List returns one page of objects from the local store.
func (c *Collection) List(ctx context.Context, opts ListOptions) (List, error) {
	match, err := opts.ResourceVersionMatch.wire()
	if err != nil {
		return List{}, err
	}
	command := wire.List{
		Collection: c.id, Namespace: opts.Namespace, LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector,
		ResourceVersion: opts.ResourceVersion, Match: match, Limit: opts.Limit, Continue: opts.Continue,
		Bodies: !opts.MetadataOnly && !c.opts.MetadataOnly,
	}
	var list List
	err = c.client.request(ctx, func(id uint32) []byte {
		command.Request = id
		return command.Append(nil)
	}, func(reply any) { list = newList(reply.(*wire.ListReply)) })
	if err != nil {
		return List{}, err
	}
	return list, nil
}

func newList(f *wire.ListReply) List {
	list := List{
		Items: make([]Object, len(f.Items)), ResourceVersion: f.ResourceVersion,
		Continue: strings.Clone(string(f.Continue)), Remaining: f.Remaining,
	}
	for i := range f.Items {
		list.Items[i] = newObject(&f.Items[i])
	}
	return list
}

// Close closes the collection with its watches and views.
func (c *Collection) Close() error {
	err := c.client.call(context.Background(), func(l *loop) error {
		if l.collections[c.id] == nil {
			return nil
		}
		l.dropCollection(c, ErrClosed)
		return l.step((&wire.CloseCollection{Collection: c.id}).Append(nil))
	})
	if err == ErrClosed {
		return nil // closed together with its client
	}
	return err
}

// dropCollection ends a collection, its watches and its views.
func (l *loop) dropCollection(c *Collection, err error) {
	delete(l.collections, c.id)
	for id, w := range l.watches {
		if w.collection == c {
			delete(l.watches, id)
			w.finish(api.WatchEndCollectionClosed, err)
		}
	}
	for id, v := range l.views {
		if v.collection == c {
			delete(l.views, id)
			v.newest.finish(err)
		}
	}
	c.status.update(func(s *collectionStatus) { s.State, s.NextAttempt, s.Err = api.StateClosed, time.Time{}, err })
}

// state updates the status from the state that the engine reports.
func (c *Collection) state(f *wire.CollectionState) {
	c.status.update(func(s *collectionStatus) {
		cause := s.Err
		s.Status = Status{
			State: f.State, ResourceVersion: f.ResourceVersion,
			Objects: f.Objects, Loaded: f.Loaded, Total: f.Total, Bodies: f.Bodies,
		}
		if f.LastProgressMillis > 0 {
			s.LastProgress = time.UnixMilli(f.LastProgressMillis)
		}
		if f.NextAttemptMillis > 0 {
			s.NextAttempt = time.UnixMilli(f.NextAttemptMillis)
		}
		switch {
		case f.Status != nil:
			s.Err = f.Status
		case f.State == api.StateConnecting, f.State == api.StateReconnecting:
			s.Err = cause
		}
		s.synced = s.synced || f.State == api.StateLive
	})
}

// fault logs why an object cannot be updated. A 404 means that the object was deleted,
// which ends the fault.
func (c *Collection) fault(log *slog.Logger, f *wire.CollectionError) {
	log = log.With("resource", c.resource, "key", strings.Clone(string(f.Key)), "resourceVersion", f.ResourceVersion.String())
	if f.Status != nil && f.Status.Code == api.CodeNotFound {
		log.Info("object with a fault was deleted")
		return
	}
	log.Warn("object cannot be updated", "error", f.Status)
}

// unconnected adds the cause to a state without a connection, unless the engine has
// reported a cause.
func (c *Collection) unconnected(err error) {
	c.status.update(func(s *collectionStatus) {
		if s.Err == nil && (s.State == api.StateConnecting || s.State == api.StateReconnecting) {
			s.Err = err
		}
	})
}

// restarting sets the status that applies until a new engine has opened the collection.
func (c *Collection) restarting(err error) {
	c.status.update(func(s *collectionStatus) {
		s.State, s.Err, s.synced = api.StateReconnecting, err, false
	})
}
