package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/source"
)

const seed = 5

// world is a source for one resource of a simulated cluster. It lists the planned
// objects, and delivers changes when hand is called. It renders objects when they are
// listed, and does not retain them.
type world struct {
	schema  *api.Schema
	cluster *clustersim.Cluster
	planned []clustersim.Planned // objects of the resource, in key order
	revised api.ResourceVersion  // the newest revision
	handed  api.ResourceVersion  // the newest revision that the connector has received
	// tap is called when the connector receives an object of the list or a change.
	// It must not retain the value.
	tap func(t api.EventType, c source.Change)
	// revise returns the new value of an object from the values before and after a write,
	// or nil to drop the write. If revise is nil, all writes become changes.
	revise func(was, is []byte) []byte
	// churn includes changes that create and delete objects. Without churn, all changes
	// are modifications, and the number of objects stays the same.
	churn bool
	// progress is the interval of progress reports, as sources send them that are in use.
	// Without it, the source reports progress only with its list.
	progress time.Duration

	latest  map[api.Key][]byte // values are nil unless revise is set
	queue   []source.Change
	batches chan []source.Change
	taken   chan struct{}
}

var (
	pods        = api.Resource{Version: "v1", Name: "pods"}
	deployments = api.Resource{Group: "apps", Version: "v1", Name: "deployments"}
)

func newWorld(resource api.Resource, config clustersim.Config) (*world, error) {
	w := &world{
		tap:     func(api.EventType, source.Change) {},
		latest:  map[api.Key][]byte{},
		batches: make(chan []source.Change),
		taken:   make(chan struct{}),
	}
	schema, err := catalog.Lookup(catalog.All(), resource)
	if err != nil {
		return nil, err
	}
	w.schema = schema
	config.Seed = seed
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	config.Now = func() time.Time { return now.Add(time.Duration(w.revised) * time.Millisecond) }
	if w.cluster, err = clustersim.New(w, config); err != nil {
		return nil, err
	}
	for _, o := range w.cluster.Planned() {
		if o.Resource == resource {
			w.planned = append(w.planned, o)
		}
	}
	slices.SortFunc(w.planned, func(a, b clustersim.Planned) int { return cmp.Compare(a.Key, b.Key) })
	return w, nil
}

// Txn queues the changes that result from writes of the simulation.
func (w *world) Txn(_ context.Context, writes ...source.Write) (api.ResourceVersion, error) {
	for _, write := range writes {
		was, exists := w.latest[write.Key]
		switch {
		case write.Resource != w.schema.Resource || !exists && !w.churn:
		case write.Value == nil:
			delete(w.latest, write.Key)
			if w.churn {
				w.change(write.Key, nil)
			}
		case w.revise == nil:
			w.latest[write.Key] = nil
			w.change(write.Key, write.Value)
		default:
			if value := w.revise(was, write.Value); value != nil {
				w.latest[write.Key] = value
				w.change(write.Key, value)
			}
		}
	}
	return w.revised, nil
}

func (w *world) change(key api.Key, value []byte) {
	w.revised++
	w.queue = append(w.queue, source.Change{Key: key, ResourceVersion: w.revised, Value: value})
}

// maxSteps limits the steps of the simulation for each requested change. A step may change none
// of the objects that the world lists, so hand might otherwise never return.
const maxSteps = 1000

// hand passes the next n changes to the connector, and returns when the connector
// has applied all of them.
func (w *world) hand(ctx context.Context, n int) error {
	for steps := 0; len(w.queue) < n; steps++ {
		if steps == maxSteps*n {
			return fmt.Errorf("the simulated cluster changed %d of %d objects in %d steps, because it replaced the others: request fewer updates", len(w.queue), n, steps)
		}
		if _, err := w.cluster.Step(ctx); err != nil {
			return err
		}
	}
	batch := w.queue[:n]
	for _, c := range batch {
		w.tap(api.Modified, c)
	}
	select {
	case w.batches <- batch:
	case <-ctx.Done():
		return ctx.Err()
	}
	<-w.taken
	w.handed = batch[n-1].ResourceVersion
	w.queue = slices.Delete(w.queue, 0, n)
	return nil
}

// Schema implements source.Source.
func (w *world) Schema(_ context.Context, resource api.Resource) (*api.Schema, error) {
	return catalog.Lookup([]api.Schema{*w.schema}, resource)
}

// Resources implements source.Source.
func (w *world) Resources(context.Context) ([]api.Resource, error) {
	return []api.Resource{w.schema.Resource}, nil
}

// Stream implements source.Source.
func (w *world) Stream(ctx context.Context, _ api.Resource, _ api.ResourceVersion, sink source.Sink) error {
	if err := w.list(sink); err != nil {
		return err
	}
	var progress <-chan time.Time
	if w.progress > 0 {
		ticker := time.NewTicker(w.progress)
		defer ticker.Stop()
		progress = ticker.C
	}
	delivered := w.revised
	for {
		select {
		case batch := <-w.batches:
			err := sink.Changes(batch)
			delivered = batch[len(batch)-1].ResourceVersion
			w.taken <- struct{}{}
			if err != nil {
				return err
			}
		case <-progress:
			if err := sink.Progress(delivered); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *world) list(sink source.Sink) error {
	if err := sink.Identify("bench"); err != nil {
		return err
	}
	if err := sink.BeginList(); err != nil {
		return err
	}
	for i, o := range w.planned {
		c := source.Change{Key: o.Key, ResourceVersion: api.ResourceVersion(i + 1), Value: o.Render().Value}
		w.tap(api.Added, c)
		w.latest[c.Key] = nil
		if w.revise != nil {
			w.latest[c.Key] = bytes.Clone(c.Value)
		}
		if err := sink.Object(c.Key, c.ResourceVersion, c.Value); err != nil {
			return err
		}
	}
	w.revised = api.ResourceVersion(len(w.planned))
	w.planned = nil
	return sink.EndList(w.revised)
}
