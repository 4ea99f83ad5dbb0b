package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/kubewatch"
	"github.com/watchglass/watchglass/core/wire"
)

const (
	// kubernetesPageSize is the page size of client-go (rule R2).
	kubernetesPageSize = 500
	// usualWatch is the usual duration of a watch, in seconds. The bookmark and the end
	// of the watch provide progress within the ten-second period.
	usualWatch = 9
	// shortWatch is the duration, in seconds, of the first watch after a disconnect.
	// This watch is short, so that progress arrives soon, but long enough for a
	// bookmark (rules W19, W20).
	shortWatch = 4
	// initialWatch is the duration, in seconds, of a watch that starts with the current
	// state. It leaves enough time to receive a large state.
	initialWatch = 600
)

// kubernetesFeed serves the subscriptions of one shared collection. The reflector
// determines the deadlines and the pauses between subscriptions.
type kubernetesFeed struct {
	*kubewatch.Client
	engine     *Engine
	collection *sharedCollection
	envelope   wire.Envelope
	// passedOver counts skipped events of other resources (rule R6).
	passedOver int
}

func newKubernetesFeed(k *kubernetes, b *sharedCollection) *kubernetesFeed {
	resource, _ := api.ParseResource(b.scope.Resource) // validated before
	f := &kubernetesFeed{engine: k.engine, collection: b}
	f.Client = kubewatch.New(kubewatch.Config{
		Resource: resource, Namespace: b.scope.Namespace, LabelSelector: b.scope.LabelSelector,
		FieldSelector: b.scope.FieldSelector, Columns: b.columns,
		Server: "Kubernetes", ClusterID: k.engine.cfg.Kubernetes, Roaming: true, ListsAtOnce: true,
		PageSize: kubernetesPageSize, InitialSeconds: initialWatch, WatchSeconds: usualWatch, FirstWatchSeconds: shortWatch,
		Handler: f, Fetch: k.fetch, Cancel: k.cancel,
	})
	return f
}

// subscribe starts a subscription of the reflector and ends the previous one.
func (f *kubernetesFeed) subscribe(s *wire.Subscribe) {
	f.Start(kubewatch.Start{From: s.ResourceVersion, ClusterID: string([]byte(s.ClusterID)), NotOlderThan: s.NotOlderThan})
}

// Describe implements kubewatch.Handler.
func (f *kubernetesFeed) Describe(schema *api.Schema, clusterID string) bool {
	return f.engine.describe(f.collection, &wire.Schema{Schema: *schema, ClusterID: clusterID}, nil)
}

// BeginList implements kubewatch.Handler.
func (f *kubernetesFeed) BeginList() error {
	return f.collection.reflector.Receive(&wire.SnapshotBegin{}, 0)
}

// Object implements kubewatch.Handler.
func (f *kubernetesFeed) Object(o *kubewatch.Object) error {
	if err := o.Versioned(); err != nil {
		return err
	}
	return f.put(o)
}

// EndList implements kubewatch.Handler.
func (f *kubernetesFeed) EndList(rv api.ResourceVersion) error {
	return f.collection.reflector.Receive(&wire.SnapshotEnd{ResourceVersion: rv}, 0)
}

// Change implements kubewatch.Handler.
func (f *kubernetesFeed) Change(o *kubewatch.Object, deleted bool) error {
	if deleted {
		return f.collection.reflector.Direct().Removed(o.Key, o.ResourceVersion)
	}
	return f.put(o)
}

func (f *kubernetesFeed) put(o *kubewatch.Object) error {
	if f.collection.scope.MetadataOnly {
		o.Body = api.Body{}
	} else {
		o.Body.Data = o.Typed(o.Body.Data)
	}
	f.envelope = wire.AppendEnvelope(f.envelope[:0], &o.Object)
	put := cacher.Update{ResourceVersion: o.ResourceVersion, Flags: o.Flags, Labels: o.Labels, Envelope: f.envelope}
	return f.collection.reflector.Direct().Object(&put)
}

// Progress implements kubewatch.Handler. Until the watch has caught up with the server,
// p.Complete only sets the version to resume from, and does not count as progress.
func (f *kubernetesFeed) Progress(p kubewatch.Progress) error {
	if !p.Current() {
		return f.collection.reflector.Receive(&wire.Events{ResourceVersion: p.Complete}, 0)
	}
	return f.collection.reflector.Receive(&wire.Progress{ResourceVersion: p.Complete}, 0)
}

// Lagging implements kubewatch.Handler.
func (f *kubernetesFeed) Lagging(why *api.Status) { f.collection.reflector.Direct().Missed(why) }

// Skipped implements kubewatch.Handler.
func (f *kubernetesFeed) Skipped(string) { f.passedOver++ }

// Ended implements kubewatch.Handler.
func (f *kubernetesFeed) Ended(why *api.Status) {
	_ = f.collection.reflector.Receive(&wire.SubscriptionStatus{Status: why}, 0) // cannot fail
}
