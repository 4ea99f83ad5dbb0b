package core

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/join"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

// sharedCollection is the store and the subscription that collections with the same
// scope share.
type sharedCollection struct {
	scope     reflector.Scope
	minimum   objcache.Version
	cacher    *cacher.Cacher
	reflector *reflector.Reflector
	views     *view.Set           // of the cacher that rows returns
	served    *session.Collection // of the cacher; nil before the first session
	users     int
	idleSince int64 // when the last user left
	// awaited contains, by attached reader that was asked to retry, until when the
	// collection is retained for that reader.
	awaited map[uint32]int64
	// pending contains the callbacks of requests that wait for the schema. Each is called
	// once, with nil or with the reason why the schema will not arrive.
	pending []func(*api.Status)
	// incomplete contains the callbacks of requests that wait for all bodies. Each is
	// called once, with nil or with the reason why the bodies will not arrive.
	incomplete []func(*api.Status)
	restore    *restore     // nil unless persisted state is being restored
	columns    []api.Column // columns that the program chose
	joined     joined
}

// collection is a collection that the program opened with OpenCollection. Several
// collections may share one sharedCollection.
type collection struct {
	id           uint32
	shared       *sharedCollection
	lastReported reportedState // if reported is set
	reported     bool
}

func (e *Engine) openCollection(f *wire.OpenCollection) {
	if e.findCollection(f.Collection) != nil {
		e.reject(wire.ObjectCollection, f.Collection, api.BadRequest("a collection with this number is open"))
		return
	}
	if _, err := api.ParseResource(f.Resource); err != nil {
		e.reject(wire.ObjectCollection, f.Collection, api.AsStatus(err))
		return
	}
	var err error
	chosen, added := f.Columns, []api.Column(nil)
	if join.Joins(chosen) {
		chosen, added = nil, f.Columns
		resources := join.Resources(added)
		for i, resource := range resources {
			_, invalid := api.ParseResource(resource)
			if i+1 < len(resources) && slices.Contains(resources[:i], resource) {
				invalid = api.BadRequest(resource + " is repeated before the last resource, so its objects would count twice")
			}
			if invalid != nil {
				err = api.BadRequest("column " + lite.Quote(added[0].Name) + ": " + api.AsStatus(invalid).Message)
			}
		}
	} else {
		_, err = catalog.NewScanner(&api.Schema{Columns: chosen})
	}
	if err != nil {
		e.reject(wire.ObjectCollection, f.Collection, api.AsStatus(err))
		return
	}
	scope := reflector.Scope{
		Resource: lite.Clone(f.Resource), Namespace: lite.Clone(f.Namespace),
		LabelSelector: lite.Clone(f.LabelSelector), FieldSelector: lite.Clone(f.FieldSelector),
		MetadataOnly: f.MetadataOnly, RowsFirst: f.RowsFirst && !f.MetadataOnly,
	}
	if len(f.Columns) > 0 {
		scope.Columns = string((&wire.ChooseColumns{Columns: f.Columns}).Append(nil))
	}
	if len(scope.Columns) > wire.MaxChooseColumns {
		e.reject(wire.ObjectCollection, f.Collection, api.TooLarge("the columns of a collection have more than 64 KiB; choose fewer"))
		return
	}
	b, fresh := e.use(scope, chosen)
	c := &collection{id: f.Collection, shared: b}
	e.collections = append(e.collections, c)
	if fresh {
		if len(added) > 0 {
			b.joinTo(e, added)
		}
		if f.Restore {
			b.restore = e.newRestore(c)
		}
		b.connect(e)
	}
	if b.reflector.SchemaKnown() {
		c.describe(e)
	}
	e.origin.need()
}

// acquire returns the shared collection of a scope. If there is none, acquire creates
// one and returns fresh as true; the caller must then connect the new collection. The
// first state of a new collection is not older than minimum.
func (e *Engine) acquire(scope reflector.Scope, columns []api.Column, minimum objcache.Version) (b *sharedCollection, fresh bool) {
	for _, b := range e.sharedCollections {
		if b.scope.SameObjects(scope) && !b.refusedForOthers() {
			if b.reflector.Absent() {
				b.reflector.Retry()
			}
			return b, false
		}
	}
	b = &sharedCollection{scope: scope, columns: columns, minimum: minimum}
	b.adopt(e, e.newReflector(b, minimum))
	e.sharedCollections = append(e.sharedCollections, b)
	if b.complete() {
		e.complete = append(e.complete, b)
	}
	return b, true
}

// connect subscribes the collection if the origin is connected and no restore is in
// progress.
func (b *sharedCollection) connect(e *Engine) {
	if e.origin.connected() && b.restore == nil {
		b.reflector.Connected(e.origin.period())
	}
}

// renew replaces the cacher with an empty one. Watches and waiting reads end with a 410,
// because no event sequence leads to the new state. Views wait for the new state.
func (b *sharedCollection) renew(e *Engine, reason api.WatchEnd, other *api.Status) {
	for _, w := range e.watches.list() {
		if w.collection.shared == b {
			w.end(e, reason, reason.Expired(other.Message))
		}
	}
	for _, x := range slices.Clone(e.snapshots) {
		if x.collection.shared == b {
			x.fail(e, other)
		}
	}
	e.expireReaders(b.cacher, other)
	b.cacher.Waits().Fail(other)
	b.adopt(e, e.newReflector(b, b.minimum))
	b.reopenViews(e)
}

//go:noinline
func (b *sharedCollection) reopenViews(e *Engine) {
	for _, v := range e.views {
		if v.collection.shared == b {
			v.reopen(e)
		}
	}
}

// resetCorrupt empties each collection that has corrupt bodies or a persisted state that
// cannot be loaded. If that state was restored, resetCorrupt notifies the program, which
// must not restore it again. A collection whose last list was corrupt lists again after
// a delay.
func (e *Engine) resetCorrupt() {
	for _, b := range e.sharedCollections {
		if corruption := b.cacher.Restored().Corrupt(); corruption != nil {
			was, cause := b.reflector, b.cacher.Restored().Cause()
			restored := was.Restored().Current()
			for _, c := range e.collections {
				if restored && c.shared == b {
					e.reject(wire.ObjectRestore, c.id, api.Expired(corruption.Message+": "+cause.Message))
				}
			}
			// Discard deliveries that were derived from incomplete data.
			for _, w := range e.watches.list() {
				if w.collection.shared == b {
					w.discard()
				}
			}
			// The next state must not be older than the one that readers have seen.
			b.minimum = objcache.Version{ClusterID: b.cacher.Upstream().ClusterID(), ResourceVersion: b.cacher.ResourceVersion()}
			was.Close()
			e.origin.leave(b)
			b.renew(e, api.WatchEndCorrupt, corruption)
			if restored {
				b.connect(e)
			} else {
				b.reflector.Replace(was, cause, e.origin.connected())
			}
		}
	}
}

// newReflector returns an unconnected reflector with an empty cacher.
func (e *Engine) newReflector(b *sharedCollection, minimum objcache.Version) *reflector.Reflector {
	return reflector.New(reflector.Config{
		Scope: b.scope, Columns: b.columns, MinResourceVersion: minimum.ResourceVersion, ClusterID: minimum.ClusterID,
		Credit: e.cfg.Credit, Rand: e.rand, NextSubscription: e.origin.nextSubscription,
	}, e.newCacher())
}

//go:noinline
func (e *Engine) newCacher() *cacher.Cacher {
	return cacher.New(cacher.Config{
		Seed:    e.rand.Uint64(),
		History: history.Limits{MinCapacity: min(100, e.cfg.MaxHistory), MaxCapacity: e.cfg.MaxHistory},
	})
}

// adopt installs a reflector and its cacher.
func (b *sharedCollection) adopt(e *Engine, r *reflector.Reflector) {
	b.closeJoin()
	b.reflector, b.cacher, b.served = r, r.Cacher(), nil
	b.views = view.NewSet(b.cacher)
	b.cacher.Tick(e.now)
	b.reflector.Tick(e.now)
	b.reflector.OnSchema = func() { b.described(e) }
	b.reflector.OnFault = func(f *wire.ObjectError) { e.reportFault(b, f) }
	b.reflector.OnBodies = b.settleIncomplete
	b.reflector.OnRefused = func(why *api.Status) {
		b.settle(why)
		b.settleIncomplete(why)
		e.expireReaders(b.cacher, why)
	}
}

// serve returns the session.Collection of the current cacher, and creates it on first
// use.
func (b *sharedCollection) serve() *session.Collection {
	if b.served == nil {
		b.served = session.NewCollection(b.cacher)
	}
	return b.served
}

// whenDescribed calls f with nil once the schema is known, or with the reason why it will
// not arrive. If too many requests wait already, it calls f with a 503.
func (b *sharedCollection) whenDescribed(f func(*api.Status)) {
	denied := b.reflector.Denied()
	switch {
	case denied != nil:
		f(denied)
	case b.reflector.SchemaKnown():
		f(nil)
	default:
		hold(&b.pending, f)
	}
}

// hold adds a request to those that wait, or fails it if there are too many.
func hold(requests *[]func(*api.Status), f func(*api.Status)) {
	if len(*requests) == cacher.MaxWaits {
		f(cacher.TooManyWaits())
		return
	}
	*requests = append(*requests, f)
}

// described sends the schema to the program, and then starts the requests that wait
// for it.
func (b *sharedCollection) described(e *Engine) {
	for _, c := range e.collections {
		if c.shared == b {
			c.describe(e)
		}
	}
	b.settle(nil)
}

//go:noinline
func (b *sharedCollection) settle(status *api.Status) {
	pending := b.pending
	b.pending = nil
	for _, f := range pending {
		f(status)
	}
}

// settleIncomplete starts the requests that wait for bodies, or fails them if status is
// not nil.
//
//go:noinline
func (b *sharedCollection) settleIncomplete(status *api.Status) {
	incomplete := b.incomplete
	b.incomplete = nil
	for _, f := range incomplete {
		f(status)
	}
}

func (b *sharedCollection) nextTick() int64 {
	next := earlier(b.reflector.NextTick(), b.cacher.NextTick())
	if b.users == 0 {
		until, _ := b.idleUntil(0)
		next = earlier(next, until)
	}
	return next
}

func (e *Engine) closeCollection(f *wire.CloseCollection) {
	c := e.findCollection(f.Collection)
	if c == nil {
		return
	}
	for _, w := range e.watches.list() {
		if w.collection == c {
			e.dropWatch(w)
		}
	}
	for _, v := range slices.Clone(e.views) {
		if v.collection == c {
			e.dropView(v)
		}
	}
	for _, x := range slices.Clone(e.snapshots) {
		if x.collection == c {
			x.fail(e, api.Unavailable("the collection was closed"))
		}
	}
	e.collections = lite.Remove(e.collections, c)
	c.shared.unuse(e)
	if r := c.shared.restore; r != nil && r.collection == c {
		c.shared.endRestore(e)
	}
}

// dropIdle closes the shared collections that have had no users for lingerMillis. Unused
// collections that stopped at the memory limit are closed without this delay. If no
// shared collection is left, dropIdle closes the connection.
func (e *Engine) dropIdle() {
	if len(e.sharedCollections) == 0 {
		return
	}
	e.drop(func(b *sharedCollection) bool {
		until, awaited := b.idleUntil(e.now)
		return e.now >= until || !awaited && b.tooLarge()
	})
	if len(e.sharedCollections) == 0 {
		e.origin.close(api.Unavailable("no collection is open"))
	}
}

// dropRefused closes the shared collection of a scope if it was refused and has no users.
// The next use of the scope then sends a new request, which the origin may accept.
func (e *Engine) dropRefused(scope reflector.Scope) {
	e.drop(func(b *sharedCollection) bool { return b.scope.SameObjects(scope) && b.reflector.Refused() != nil })
}

// refusedForOthers reports whether the collection was refused and still has users. New
// users then get a new collection, because the origin may now accept the request. A
// collection that stopped at the memory limit is shared, because its objects stay
// readable.
func (b *sharedCollection) refusedForOthers() bool {
	return b.users > 0 && b.reflector.Refused() != nil && !b.tooLarge()
}

// drop closes the shared collections that have no users and for which match returns true.
func (e *Engine) drop(match func(*sharedCollection) bool) {
	e.sharedCollections = slices.DeleteFunc(e.sharedCollections, func(b *sharedCollection) bool {
		if b.users > 0 || !match(b) {
			return false
		}
		b.reflector.Close()
		e.origin.leave(b)
		b.closeJoin()
		for _, other := range b.joined.others {
			other.unuse(e)
		}
		gone := api.Unavailable("the collection was closed")
		b.settle(gone)
		b.settleIncomplete(gone)
		b.cacher.Waits().Fail(gone)
		return true
	})
	e.used = min(e.used, e.usedBytes())
	e.complete = slices.DeleteFunc(e.complete, func(b *sharedCollection) bool { return !slices.Contains(e.sharedCollections, b) })
}

// tooLarge reports whether the collection stopped because the engine reached its memory
// limit.
func (b *sharedCollection) tooLarge() bool {
	refused := b.reflector.Refused()
	return refused != nil && refused.Code == api.CodeTooLarge
}

// enforceMemoryLimit drops data or stops a collection if the total memory has grown
// beyond the limit. It first drops the indexes of the joined columns of one collection.
// If there are no such indexes, it selects the largest collection that is still
// updated. That collection continues without bodies if bodies are pending, and is
// stopped otherwise. The objects of a stopped collection remain readable, and its state
// reports the reason. The other collections continue until the total grows again.
func (e *Engine) enforceMemoryLimit() {
	used, largest := e.usedBytes(), (*sharedCollection)(nil)
	for _, b := range e.sharedCollections {
		if b.reflector.Refused() == nil && (largest == nil || b.usedBytes() > largest.usedBytes()) {
			largest = b
		}
	}
	grown := used > e.used
	e.used = used
	if used <= e.cfg.MaxBytes || !grown || largest == nil {
		return
	}
	for _, b := range e.sharedCollections {
		if b.refuseJoin(e, api.TooLarge("the columns of other resources need more memory than the "+
			number(e.cfg.MaxBytes)+" bytes allowed; narrow "+b.scope.Resource+" by namespace, omit the columns, or allow more")) {
			e.used = e.usedBytes()
			return
		}
	}
	why := api.TooLarge("the objects need more memory than the " +
		number(e.cfg.MaxBytes) + " bytes allowed; narrow " + largest.scope.Resource +
		" by namespace or selector, omit bodies, or allow more")
	if largest.reflector.Bodies().Leave(why) {
		e.used = e.usedBytes()
		return
	}
	largest.reflector.Refuse(why)
}

func (e *Engine) findCollection(id uint32) *collection {
	for _, c := range e.collections {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (c *collection) describe(e *Engine) {
	e.out = (&wire.CollectionSchema{Collection: c.id, Schema: *c.shared.schema()}).Append(e.out)
}

// report sends the state of the collection if it has changed since the last report.
func (c *collection) report(e *Engine) {
	r := c.shared.reflector
	if denied := r.Denied(); denied != nil {
		c.shared.settle(denied)
		c.shared.settleIncomplete(denied)
	}
	state := r.State()
	state.Collection = c.id
	if state.State == api.StateLive && state.Status == nil {
		state.Status = c.shared.joinStatus()
	}
	state.LastProgressMillis = e.outside(state.LastProgressMillis)
	if at := e.origin.retryAt(); at != 0 && state.State != api.StateClosed {
		state.NextAttemptMillis = at
	}
	state.NextAttemptMillis = e.outside(state.NextAttemptMillis)
	if reported := reportedState(state); !c.reported || reported != c.lastReported {
		c.reported, c.lastReported = true, reported
		e.out = state.Append(e.out)
	}
}

// reportedState has no methods. The linker keeps the methods of all types of fields, and the module
// does not need the parser of this frame.
type reportedState wire.CollectionState

func (e *Engine) reportFault(b *sharedCollection, f *wire.ObjectError) {
	for _, c := range e.collections {
		if c.shared == b {
			e.out = (&wire.CollectionError{
				Collection: c.id, Key: f.Key, ResourceVersion: f.ResourceVersion, Status: f.Status,
			}).Append(e.out)
		}
	}
}

//go:noinline
func (e *Engine) reject(object wire.Object, id uint32, status *api.Status) {
	e.out = (&wire.Rejected{Object: object, ID: id, Status: status}).Append(e.out)
}
