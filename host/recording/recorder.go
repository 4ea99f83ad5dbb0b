package recording

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/client"
)

// Recorder writes one recording, one line at a time. It is safe for concurrent use. Only
// Close returns write errors, so that recording does not disturb the recorded program.
type Recorder struct {
	mu        sync.Mutex
	lines     *json.Encoder
	count     int // number of lines
	err       error
	failed    func()
	watches   int
	clusterID string
}

// New begins a recording of a resource. At the first write error, the recorder calls the
// function failed, which must not block, and writes no further lines. Close returns this
// error.
func New(out io.Writer, resource api.Resource, failed func()) *Recorder {
	r := &Recorder{lines: json.NewEncoder(out), failed: failed}
	r.write(&Line{Kind: kindHistory, Version: Version, Resource: resource.String()})
	return r
}

// Close ends the recording and returns its first error. It does not close the
// writer.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.append(&Line{Kind: kindEnd, Lines: r.count + 1})
	return r.err
}

func (r *Recorder) write(l *Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.append(l)
}

// append appends a line. The caller holds the lock.
func (r *Recorder) append(l *Line) {
	r.count++
	l.Time = time.Now().UTC()
	if err := r.lines.Encode(l); err != nil && r.err == nil {
		r.err = err
		r.failed()
	}
}

// identify records the cluster ID of the following resource versions, if it has changed.
func (r *Recorder) identify(clusterID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if clusterID != r.clusterID {
		r.clusterID = clusterID
		r.append(&Line{Kind: kindCluster, ClusterID: clusterID})
	}
}

// Collection records a reader's collection of the resource.
type Collection struct {
	recorder *Recorder
	schema   api.Schema
	scope    Filter
}

// Collection returns the recorder of a collection that was opened with options.
func (r *Recorder) Collection(schema api.Schema, options client.CollectionOptions) *Collection {
	return &Collection{r, schema, Filter{options.Namespace, options.LabelSelector, options.FieldSelector}}
}

// List records a complete list, with the objects of all its pages.
func (c *Collection) List(filter Filter, rv api.ResourceVersion, items []client.Object) {
	l := &Line{Kind: kindList, Scope: &c.scope, Filter: &filter, ResourceVersion: rv}
	for _, item := range items {
		o := c.object(item)
		o.Key = clone(item.Key())
		l.Objects = append(l.Objects, *o)
	}
	c.recorder.write(l)
}

func clone(key api.Key) api.Key { return api.Key(append([]byte(nil), key...)) }

func (c *Collection) object(o client.Object) *Object {
	version := &Object{UID: o.UID(), ResourceVersion: o.ResourceVersion(), Labels: labelsOf(o.Labels())}
	for i, name := range c.schema.Fields {
		version.set(name, o.Field(i))
	}
	return version
}

func (o *Object) set(field, value string) {
	if o.Fields == nil {
		o.Fields = map[string]string{}
	}
	o.Fields[field] = value
}

func labelsOf(labels api.Labels) map[string]string {
	labels = labels.WithoutOwner()
	if len(labels) == 0 {
		return nil
	}
	set := map[string]string{}
	for _, l := range labels {
		set[l.Key] = l.Value
	}
	return set
}

// Watch records one watch.
type Watch struct {
	collection *Collection
	id         int
}

// Watch records that a watch was opened.
func (c *Collection) Watch(options client.WatchOptions) *Watch {
	r := c.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches++
	l := &Line{
		Kind: kindWatch, Watch: r.watches, Scope: &c.scope,
		Filter:    &Filter{options.Namespace, options.LabelSelector, options.FieldSelector},
		Bookmarks: options.AllowWatchBookmarks, Conflating: options.Policy == client.Conflate,
		Limited: true, // the buffer always limits the credit
	}
	l.Start, l.ResourceVersion = startOf(options)
	r.append(l)
	return &Watch{c, r.watches}
}

func startOf(options client.WatchOptions) (string, api.ResourceVersion) {
	rv, _ := api.ParseResourceVersion(options.ResourceVersion) // valid, because a watch with an invalid version is refused
	initial := options.SendInitialEvents
	switch {
	case initial != nil && *initial, initial == nil && rv == 0:
		return "state", 0
	case rv > 0:
		return "version", rv
	}
	return "now", 0
}

// Events records one delivery.
func (w *Watch) Events(events ...client.Event) {
	l := &Line{Kind: kindEvents, Watch: w.id}
	for i := range events {
		e := &events[i]
		recorded := Event{Type: e.Type.String(), ResourceVersion: e.ResourceVersion, End: e.InitialEventsEnd}
		if e.Type.IsChange() {
			recorded.Key, recorded.Object = clone(e.Object.Key()), w.collection.object(e.Object)
		}
		l.Events = append(l.Events, recorded)
	}
	if len(l.Events) > 0 {
		w.collection.recorder.write(l)
	}
}

// Close records that the watch ended, with the reason err. A nil err means a normal end.
func (w *Watch) Close(err error) {
	l := &Line{Kind: kindClosed, Watch: w.id}
	if err != nil {
		l.Reason = err.Error()
	}
	w.collection.recorder.write(l)
}
