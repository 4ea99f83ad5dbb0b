package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// origin is the provider of collections: a connector or a Kubernetes API.
type origin interface {
	// The engine calls need when a collection is open, and close when none is open.
	need()
	close(why *api.Status)
	// connected reports whether collections can subscribe. period returns the
	// interval of progress reports in milliseconds.
	connected() bool
	period() int64
	nextSubscription() uint32
	// leave sends the remaining output of a shared collection that is being closed.
	leave(*sharedCollection)
	// flush sends the output of all shared collections.
	flush()
	tick()
	nextTick() int64
	// retryAt returns the time of the next connection attempt, or zero if none is
	// scheduled. reconnect starts that attempt immediately.
	retryAt() int64
	reconnect()

	opened(*wire.StreamOpened)
	fetched(*wire.Fetched)
	data(*wire.StreamData)
	closed(*wire.StreamClosed)

	inspect(add func(name string, value int))
}

func (e *Engine) reconnect(*wire.Reconnect) {
	e.origin.reconnect()
	for _, b := range e.sharedCollections {
		b.reflector.Retry()
	}
}

func (e *Engine) streamOpened(f *wire.StreamOpened) { e.origin.opened(f) }

func (e *Engine) fetched(f *wire.Fetched) { e.origin.fetched(f) }

func (e *Engine) streamData(f *wire.StreamData) {
	e.origin.data(f)
	e.enforceMemoryLimit()
}

func (e *Engine) streamClosed(f *wire.StreamClosed) { e.origin.closed(f) }

// describe sets the schema of a shared collection. It reports whether the collection
// continues. If the layout or the cluster ID of the objects has changed, describe
// empties the collection, subscribes again and returns false.
func (e *Engine) describe(b *sharedCollection, f *wire.Schema, dictionary []byte) bool {
	if b.reflector.Schema(f, dictionary) {
		return true
	}
	b.reflector.Close()
	e.origin.leave(b)
	b.renew(e, api.WatchEndHistoryLost, api.Expired("the schema or the source of the resource has changed: list and watch again"))
	b.reflector.Connected(e.origin.period())
	return false
}
