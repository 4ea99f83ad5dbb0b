package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/kubewatch"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/wire"
)

// kubernetes is a Kubernetes API that the engine reads directly. Each shared
// collection has a feed, which serves its subscriptions like a connector.
type kubernetes struct {
	engine *Engine
	// feeds serve the shared collections that have subscribed.
	feeds        map[*sharedCollection]*kubewatch.Feed
	stream       uint32
	subscription uint32
	// requests counts the requests, and refusals the responses other than 200.
	requests, refusals int
}

func newKubernetes(e *Engine) origin {
	return &kubernetes{engine: e, feeds: map[*sharedCollection]*kubewatch.Feed{}}
}

func (k *kubernetes) accept(f *wire.OpenCollection) *api.Status {
	if _, err := objectjson.NewScanner(&api.Schema{Columns: f.Columns}); err != nil {
		return api.AsStatus(err)
	}
	return nil
}

func (k *kubernetes) need() {}

func (k *kubernetes) close(*api.Status) {}

func (k *kubernetes) connected() bool { return true }

func (k *kubernetes) period() int64 { return kubewatch.Period }

func (k *kubernetes) nextSubscription() uint32 {
	k.subscription++
	return k.subscription
}

func (k *kubernetes) leave(b *sharedCollection) {
	b.reflector.Outgoing()
	if feed := k.feeds[b]; feed != nil {
		feed.Unsubscribe()
		delete(k.feeds, b)
	}
}

func (k *kubernetes) flush() {
	for _, b := range k.engine.sharedCollections {
		// Reflector output is always well formed. Only Subscribe and Unsubscribe
		// matter here; credit and progress requests have no effect without a
		// connector.
		_ = each(b.reflector.Outgoing(), func(t wire.Type, payload []byte) error {
			switch t {
			case wire.TypeSubscribe:
				var f wire.Subscribe
				if err := f.Parse(payload); err != nil {
					return err
				}
				k.feed(b).Subscribe(b.reflector, &f)
			case wire.TypeUnsubscribe:
				k.feed(b).Unsubscribe()
			}
			return nil
		})
	}
}

// feed returns the feed of a shared collection.
func (k *kubernetes) feed(b *sharedCollection) *kubewatch.Feed {
	feed := k.feeds[b]
	if feed == nil {
		resource, _ := api.ParseResource(b.scope.Resource) // validated before
		feed = kubewatch.New(kubewatch.Config{
			Resource: resource, Namespace: b.scope.Namespace, LabelSelector: b.scope.LabelSelector,
			FieldSelector: b.scope.FieldSelector, MetadataOnly: b.scope.MetadataOnly, Columns: b.columns,
			Cluster:  k.engine.cfg.Kubernetes,
			Describe: func(f *wire.Schema) bool { return k.engine.describe(b, f, nil) },
			Fetch:    k.fetch,
			Cancel:   k.cancel,
		})
		feed.Tick(k.engine.now)
		k.feeds[b] = feed
	}
	return feed
}

func (k *kubernetes) fetch(path string) uint32 {
	k.stream++
	k.requests++
	k.engine.out = (&wire.Fetch{Stream: k.stream, Path: path}).Append(k.engine.out)
	return k.stream
}

func (k *kubernetes) cancel(stream uint32) {
	k.engine.out = (&wire.CloseStream{Stream: stream, Message: "the answer is not needed any more"}).Append(k.engine.out)
}

func (k *kubernetes) tick() {
	for _, feed := range k.feeds { // the order has no effect
		feed.Tick(k.engine.now)
	}
}

func (k *kubernetes) nextTick() int64 { return 0 }

func (k *kubernetes) retryAt() int64 { return 0 }

func (k *kubernetes) reconnect() {}

// to passes a response to the feed that requested it. It ignores responses to
// canceled requests. flush first applies pending cancellations.
func (k *kubernetes) to(stream uint32, take func(*kubewatch.Feed)) {
	k.flush()
	for _, b := range k.engine.sharedCollections {
		if feed := k.feeds[b]; feed != nil && feed.Asks(stream) {
			take(feed)
			return
		}
	}
}

func (k *kubernetes) opened(*wire.StreamOpened) {}

func (k *kubernetes) fetched(f *wire.Fetched) {
	if f.Code != 200 {
		k.refusals++
	}
	k.to(f.Stream, func(feed *kubewatch.Feed) { feed.Fetched(f.Stream, f.Code, f.RetryAfterSeconds) })
}

func (k *kubernetes) data(f *wire.StreamData) {
	k.to(f.Stream, func(feed *kubewatch.Feed) { feed.Data(f.Stream, f.Data) })
}

func (k *kubernetes) closed(f *wire.StreamClosed) {
	k.to(f.Stream, func(feed *kubewatch.Feed) { feed.Closed(f.Stream, f.Message) })
}

func (k *kubernetes) inspect(add func(string, int)) {
	passedOver := 0
	for _, feed := range k.feeds {
		passedOver += feed.PassedOver
	}
	add("requests", k.requests)
	add("refusals", k.refusals)
	add("passedOver", passedOver)
}
