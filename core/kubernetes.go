package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/kubewatch"
	"github.com/watchglass/watchglass/core/wire"
)

// kubernetes is a Kubernetes API that the engine reads directly. Each shared
// collection has a feed, which serves its subscriptions like a connector.
type kubernetes struct {
	engine *Engine
	// feeds serve the shared collections that have subscribed.
	feeds        map[*sharedCollection]*kubernetesFeed
	stream       uint32
	subscription uint32
	// requests counts the HTTP requests. refusals counts the responses whose status
	// code is not 200.
	requests, refusals int
}

func newKubernetes(e *Engine) origin {
	return &kubernetes{engine: e, feeds: map[*sharedCollection]*kubernetesFeed{}}
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
		feed.Stop()
		delete(k.feeds, b)
	}
}

func (k *kubernetes) flush() {
	for _, b := range k.engine.sharedCollections {
		// Reflector output is always well formed. Only Subscribe and Unsubscribe
		// matter here; credit and progress requests have no effect without a
		// connector.
		_ = wire.FromReader.Each(b.reflector.Outgoing(), func(_ wire.Type, f wire.Frame) error {
			switch f := f.(type) {
			case *wire.Subscribe:
				k.feed(b).subscribe(f)
			case *wire.Unsubscribe:
				k.feed(b).Stop()
			}
			return nil
		})
	}
}

// feed returns the feed of a shared collection, and creates it on first use.
func (k *kubernetes) feed(b *sharedCollection) *kubernetesFeed {
	feed := k.feeds[b]
	if feed == nil {
		feed = newKubernetesFeed(k, b)
		feed.Tick(k.engine.now)
		k.feeds[b] = feed
	}
	return feed
}

func (k *kubernetes) fetch(r kubewatch.Request) uint32 {
	k.stream++
	k.requests++
	k.engine.out = (&wire.Fetch{Stream: k.stream, Path: r.String()}).Append(k.engine.out)
	return k.stream
}

func (k *kubernetes) cancel(stream uint32) {
	k.engine.out = (&wire.CloseStream{Stream: stream, Message: "the response is no longer needed"}).Append(k.engine.out)
}

func (k *kubernetes) tick() {
	for _, feed := range k.feeds { // the order has no effect
		feed.Tick(k.engine.now)
	}
}

func (k *kubernetes) nextTick() int64 { return 0 }

func (k *kubernetes) retryAt() int64 { return 0 }

func (k *kubernetes) reconnect() {}

// to passes a response to the feed that requested it. It ignores responses to canceled
// requests. It flushes first, so that pending cancellations take effect.
func (k *kubernetes) to(stream uint32, take func(*kubewatch.Client)) {
	k.flush()
	for _, b := range k.engine.sharedCollections {
		if feed := k.feeds[b]; feed != nil && feed.Requested(stream) {
			take(feed.Client)
			return
		}
	}
}

func (k *kubernetes) opened(*wire.StreamOpened) {}

func (k *kubernetes) fetched(f *wire.Fetched) {
	if f.Code != api.CodeOK {
		k.refusals++
	}
	k.to(f.Stream, func(c *kubewatch.Client) { c.Responded(f.Stream, f.Code, f.RetryAfterSeconds) })
}

func (k *kubernetes) data(f *wire.StreamData) {
	k.to(f.Stream, func(c *kubewatch.Client) { c.Data(f.Stream, f.Data) })
}

func (k *kubernetes) closed(f *wire.StreamClosed) {
	k.to(f.Stream, func(c *kubewatch.Client) { c.Closed(f.Stream, f.Message) })
}

func (k *kubernetes) inspect(add func(string, int)) {
	passedOver := 0
	for _, feed := range k.feeds {
		passedOver += feed.passedOver
	}
	add("requests", k.requests)
	add("refusals", k.refusals)
	add("passedOver", passedOver)
}
