package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// origin is where the collections come from: a connector, or Kubernetes itself.
type origin interface {
	// accept says what cannot be opened of it.
	accept(*wire.OpenCollection) *api.Status
	// need is called when something is open, and close when nothing is any more.
	need()
	close(why *api.Status)
	// connected reports whether collections can subscribe, and period how often
	// they then hear of progress, in milliseconds.
	connected() bool
	period() int64
	nextSubscription() uint32
	// leave takes the last words of a backing that is given up.
	leave(*backing)
	// flush takes what the others have to say.
	flush()
	tick()
	nextTick() int64
	// retryAt is when another attempt to connect comes, zero while none is waited
	// for, and reconnect makes that now, for whatever waits.
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
	for _, b := range e.backings {
		b.reflector.Retry()
	}
}

func (e *Engine) streamOpened(f *wire.StreamOpened) { e.origin.opened(f) }

func (e *Engine) fetched(f *wire.Fetched) { e.origin.fetched(f) }

func (e *Engine) streamData(f *wire.StreamData) {
	e.origin.data(f)
	e.keepBudget()
}

func (e *Engine) streamClosed(f *wire.StreamClosed) { e.origin.closed(f) }

// describe hands a description to a backing. When what it holds was described
// differently, it begins anew and subscribes again; false says so.
func (e *Engine) describe(b *backing, f *wire.Schema, dictionary []byte) bool {
	if b.reflector.Schema(f, dictionary) {
		return true
	}
	b.reflector.Close()
	e.origin.leave(b)
	b.renew(e, wire.WatchEndHistoryLost, api.Expired("the resource is described differently now, or comes from another source; list and watch it anew"))
	b.reflector.Connected(e.origin.period())
	return false
}
