package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
)

// A collection that was opened with RowsFirst serves views as soon as its rows have
// arrived. A read of a single object requests the body of that object if the body has
// not arrived. Watches and lists with bodies wait until all bodies have arrived. Until
// then, snapshots are refused.

// bodyMillis is how long a read waits for a body (rule B30).
const bodyMillis = 10_000

// bodyWait is a read that waits for a body.
type bodyWait struct {
	collection *collection
	cache      *cacher.Cacher
	request    uint32
	key        api.Key
	until      int64
}

func (e *Engine) awaitBody(c *collection, cache *cacher.Cacher, request uint32, key api.Key) {
	if len(e.bodyWaits) == cacher.MaxWaits {
		e.replyError(request, cacher.TooManyWaits())
		return
	}
	c.shared.reflector.Bodies().Request(key)
	e.bodyWaits = append(e.bodyWaits, bodyWait{c, cache, request, key, e.now + bodyMillis})
}

// answerBodyWaits completes the reads whose body has arrived or will not arrive.
func (e *Engine) answerBodyWaits() {
	waits := e.bodyWaits
	e.bodyWaits = waits[:0]
	for _, w := range waits {
		r := w.collection.shared.reflector
		var status *api.Status
		switch {
		case e.findCollection(w.collection.id) != w.collection || r.Cacher() != w.cache:
			status = api.Unavailable("the collection was closed or has started over; read again")
		case !r.Bodies().Pending(w.key):
		case r.Refused() != nil:
			status = r.Refused()
		case e.now >= w.until:
			status = bodyMissing(w.key)
		default:
			e.bodyWaits = append(e.bodyWaits, w)
			continue
		}
		e.replyObject(w.collection, w.cache, w.request, w.key, status)
	}
}

// lacksBody reports whether the body of a stored version is still missing. It examines
// the envelope, because the first reads of a new state run before the reflector has
// determined which bodies are pending.
func (b *sharedCollection) lacksBody(ref store.Ref) bool {
	return ref != 0 && b.scope.RowsFirst && b.reflector.Bodies().Left() == nil &&
		b.cacher.Arena().Envelope(ref).Body().Codec == api.NoBody
}

func bodyMissing(key api.Key) *api.Status {
	return &api.Status{
		Code: api.CodeGatewayTimeout, Reason: api.ReasonTimeout, Cause: "BodyMissing", RetryAfterSeconds: 1,
		Message: "the body of " + string(key) + " has not arrived within 10 s; read it again later",
	}
}

// whenComplete calls f with nil once all bodies have arrived, or with the reason why they
// will not arrive. If too many requests wait already, it calls f with a 503.
func (b *sharedCollection) whenComplete(f func(*api.Status)) {
	r := b.reflector
	switch {
	case r.Bodies().Complete():
		f(nil)
	case r.Bodies().Left() != nil:
		f(r.Bodies().Left())
	case r.Refused() != nil:
		f(r.Refused())
	default:
		hold(&b.incomplete, f)
	}
}
