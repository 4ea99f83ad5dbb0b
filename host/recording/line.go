package recording

import (
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
)

// Version is the version of the format. Load rejects all other versions.
const Version = 3

// Line is one line of a recording. Its kind determines its fields.
type Line struct {
	Kind string    `json:"kind"`
	Time time.Time `json:"time"`

	Version   int    `json:"version,omitempty"`   // history
	Resource  string `json:"resource,omitempty"`  // history
	ClusterID string `json:"clusterID,omitempty"` // cluster

	// Scope is the part of the resource that a collection contains. Lines of kind subscribe,
	// snapshot, list and watch have a Scope.
	Scope *Filter `json:"scope,omitempty"`
	// Filter selects objects within the collection. Lines of kind list and watch have a
	// Filter.
	Filter *Filter `json:"filter,omitempty"`

	// ResourceVersion is the version of a state, change, progress, snapshot or list. For a
	// watch, it is the version from which the watch starts.
	ResourceVersion api.ResourceVersion `json:"resourceVersion,omitempty,string"`
	// NotOlderThan is the version that the reader had already reached. Only lines of kind
	// subscribe have it.
	NotOlderThan api.ResourceVersion `json:"notOlderThan,omitempty,string"`

	Key     api.Key  `json:"key,omitempty"`     // change
	Object  *Object  `json:"object,omitempty"`  // change; absent for a deletion
	Objects []Object `json:"objects,omitempty"` // state, list

	Watch      int     `json:"watch,omitempty"`      // watch, events, closed: the number of the watch in the file
	Start      string  `json:"start,omitempty"`      // watch: "state", "version" or "now"
	Bookmarks  bool    `json:"bookmarks,omitempty"`  // watch: the watch requested bookmarks
	Conflating bool    `json:"conflating,omitempty"` // watch: changes of an object may be merged
	Limited    bool    `json:"limited,omitempty"`    // watch: a lack of credit may delay deliveries
	Events     []Event `json:"events,omitempty"`     // events
	Reason     string  `json:"reason,omitempty"`     // closed

	Lines int `json:"lines,omitempty"` // end: the number of lines, including this one
}

// Filter contains the selectors of a request, as in Kubernetes.
type Filter struct {
	Namespace     string `json:"namespace,omitempty"`
	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`
}

func (f *Filter) check() check.Filter {
	if f == nil {
		return check.Filter{}
	}
	return check.Filter{Namespace: f.Namespace, Labels: f.LabelSelector, Fields: f.FieldSelector}
}

// Object is one version of an object, with the data that selectors read.
type Object struct {
	Key             api.Key             `json:"key,omitempty"` // in lists
	UID             string              `json:"uid,omitempty"`
	ResourceVersion api.ResourceVersion `json:"resourceVersion,string"`
	Labels          map[string]string   `json:"labels,omitempty"`
	Fields          map[string]string   `json:"fields,omitempty"` // fields that field selectors support
	Fault           string              `json:"fault,omitempty"`  // why the object is unreadable
}

func (o *Object) check() *check.Object {
	if o == nil {
		return nil
	}
	return &check.Object{
		UID: o.UID, ResourceVersion: o.ResourceVersion, Labels: o.Labels, Fields: o.Fields, Faulty: o.Fault != "",
	}
}

// Event is one event of a watch.
type Event struct {
	Type            string              `json:"type"` // ADDED, MODIFIED, DELETED or BOOKMARK
	Key             api.Key             `json:"key,omitempty"`
	ResourceVersion api.ResourceVersion `json:"resourceVersion,string"`
	Object          *Object             `json:"object,omitempty"` // the object; for a deletion, its last version
	End             bool                `json:"initialEventsEnd,omitempty"`
}

// These are the kinds of lines.
const (
	kindHistory   = "history"
	kindCluster   = "cluster"
	kindState     = "state"
	kindChange    = "change"
	kindProgress  = "progress"
	kindSubscribe = "subscribe"
	kindSnapshot  = "snapshot"
	kindList      = "list"
	kindWatch     = "watch"
	kindEvents    = "events"
	kindClosed    = "closed"
	kindEnd       = "end"
)

// starts maps the values of Line.Start to the values that package check uses.
var starts = map[string]check.Start{"state": check.FromState, "version": check.FromVersion, "now": check.FromNow}
