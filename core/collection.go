package core

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// backing is what collections of equal scope share: one store, one
// subscription.
type backing struct {
	scope     reflector.Scope
	floor     objcache.Version
	cacher    *cacher.Cacher
	reflector *reflector.Reflector
	users     int
	idleSince int64 // while there are no users
	// pending are requests that wait for the schema; each is called once, with
	// the reason if it will not come.
	pending []func(*api.Status)
	restore *restore     // while kept state is handed in
	columns []api.Column // those that the program chose, of Kubernetes itself
}

// collection is one that the program has opened.
type collection struct {
	id      uint32
	backing *backing
	told    *wire.CollectionState // nil before the first report
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
	if status := e.origin.accept(f); status != nil {
		e.reject(wire.ObjectCollection, f.Collection, status)
		return
	}
	scope := reflector.Scope{
		Resource: strings.Clone(f.Resource), Namespace: strings.Clone(f.Namespace),
		LabelSelector: strings.Clone(f.LabelSelector), FieldSelector: strings.Clone(f.FieldSelector),
		MetadataOnly: f.MetadataOnly, Columns: columnsText(f.Columns),
	}
	b, fresh := e.back(scope, objcache.Version{})
	b.users++
	c := &collection{id: f.Collection, backing: b}
	e.collections = append(e.collections, c)
	if fresh {
		b.columns = f.Columns
		if f.Restore {
			b.restore = &restore{collection: c}
		}
		b.connect(e)
	}
	if b.reflector.SchemaKnown() {
		c.describe(e)
	}
	e.origin.need()
}

// back returns the backing of a scope, a fresh one if there is none, which is
// then to be connected. The first state of a fresh one is not older than floor.
func (e *Engine) back(scope reflector.Scope, floor objcache.Version) (b *backing, fresh bool) {
	for _, b := range e.backings {
		if b.scope == scope {
			return b, false
		}
	}
	b = &backing{scope: scope, floor: floor}
	b.adopt(e, e.newReflector(b.scope, b.floor))
	e.backings = append(e.backings, b)
	if b.whole() {
		e.whole = append(e.whole, b)
	}
	return b, true
}

// connect lets the backing subscribe if there is a connection, unless it may
// have something to resume from soon.
func (b *backing) connect(e *Engine) {
	if e.origin.connected() && b.restore == nil {
		b.reflector.Connected(e.origin.period())
	}
}

// renew makes the backing an empty one. Watches end for that reason and, like
// reads that wait, with that 410, because what was seen no longer leads to what
// comes; views wait for the new state.
func (b *backing) renew(e *Engine, reason wire.WatchEnd, other *api.Status) {
	for _, w := range e.watches.list() {
		if w.collection.backing == b {
			w.end(e, reason, reason.Expired(other.Message))
		}
	}
	for _, x := range slices.Clone(e.exports) {
		if x.collection.backing == b {
			x.fail(e, other)
		}
	}
	e.expireReaders(b.cacher, other)
	b.cacher.FailWaits(other)
	b.adopt(e, e.newReflector(b.scope, b.floor))
	for _, v := range e.views {
		if v.collection.backing == b {
			v.reopen(e)
		}
	}
}

// renewDamaged starts over where what was restored turned out not to be whole. Who
// keeps it is told, and must not hand it in again.
func (e *Engine) renewDamaged() {
	for _, b := range e.backings {
		if damage := b.cacher.Damaged(); damage != nil {
			for _, c := range e.collections {
				if c.backing == b {
					e.reject(wire.ObjectRestore, c.id, api.Expired(damage.Message+": "+b.cacher.DamageCause().Message))
				}
			}
			// What was made out of a part of the objects is told to nobody.
			for _, w := range e.watches.list() {
				if w.collection.backing == b {
					w.discard()
				}
			}
			// Who read from it must not be taken back in time.
			b.floor = objcache.Version{History: b.reflector.Source(), ResourceVersion: b.cacher.ResourceVersion()}
			b.reflector.Close()
			e.origin.leave(b)
			b.renew(e, wire.WatchEndCorrupt, damage)
			b.connect(e)
		}
	}
}

// newReflector returns one that is not connected, with an empty cacher.
func (e *Engine) newReflector(scope reflector.Scope, floor objcache.Version) *reflector.Reflector {
	return reflector.New(reflector.Config{
		Scope: scope, Floor: floor.ResourceVersion, Source: floor.History,
		Credit: e.cfg.Credit, Rand: e.rand, NextSubscription: e.origin.nextSubscription,
	}, cacher.New(cacher.Config{
		Seed:    e.rand.Uint64(),
		History: history.Limits{MinCapacity: min(100, e.cfg.MaxHistory), MaxCapacity: e.cfg.MaxHistory},
	}))
}

// adopt makes r and its cacher those of the backing.
func (b *backing) adopt(e *Engine, r *reflector.Reflector) {
	b.reflector, b.cacher = r, r.Cacher()
	b.cacher.Tick(e.now)
	b.reflector.Tick(e.now)
	b.reflector.OnSchema = func() { b.described(e) }
	b.reflector.OnFault = func(f *wire.ObjectError) { e.reportFault(b, f) }
	b.reflector.OnRefused = func(why *api.Status) {
		b.settle(why)
		e.expireReaders(b.cacher, why)
	}
}

// whenDescribed calls f once the schema is known, or with the reason why it
// will not be.
func (b *backing) whenDescribed(f func(*api.Status)) {
	denied := b.reflector.Denied()
	switch {
	case denied != nil:
		f(denied)
	case b.reflector.SchemaKnown():
		f(nil)
	default:
		b.pending = append(b.pending, f)
	}
}

// described tells the schema before anything that is read with it.
func (b *backing) described(e *Engine) {
	for _, c := range e.collections {
		if c.backing == b {
			c.describe(e)
		}
	}
	b.settle(nil)
}

func (b *backing) settle(status *api.Status) {
	pending := b.pending
	b.pending = nil
	for _, f := range pending {
		f(status)
	}
}

func (b *backing) nextTick() int64 {
	next := earlier(b.reflector.NextTick(), b.cacher.NextTick())
	if b.users == 0 {
		next = earlier(next, b.idleSince+lingerMillis)
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
	for _, x := range slices.Clone(e.exports) {
		if x.collection == c {
			x.fail(e, api.Unavailable("the collection was closed"))
		}
	}
	e.collections = api.Remove(e.collections, c)
	c.backing.users--
	c.backing.idleSince = e.now
	if r := c.backing.restore; r != nil && r.collection == c {
		c.backing.endRestore(e)
	}
}

// dropIdle lets go of what nobody has had open for a while, and of the
// connection when nothing is left.
func (e *Engine) dropIdle() {
	if len(e.backings) == 0 {
		return
	}
	e.backings = slices.DeleteFunc(e.backings, func(b *backing) bool {
		awaited := e.now < b.idleSince // by a reader that was asked to come again
		if b.users > 0 || awaited || e.now < b.idleSince+lingerMillis && !b.tooLarge() {
			return false
		}
		b.reflector.Close()
		e.origin.leave(b)
		gone := api.Unavailable("the collection was closed")
		b.settle(gone)
		b.cacher.FailWaits(gone)
		return true
	})
	e.used = min(e.used, e.usedBytes())
	e.whole = slices.DeleteFunc(e.whole, func(b *backing) bool { return !slices.Contains(e.backings, b) })
	if len(e.backings) == 0 {
		e.origin.close(api.Unavailable("nothing is open any more"))
	}
}

// tooLarge: it was given up because of its memory, which others may wait for.
func (b *backing) tooLarge() bool {
	refused := b.reflector.Refused()
	return refused != nil && refused.Code == 413
}

// keepBudget gives up the largest collection that is still followed when all
// together have grown beyond the memory allowed: what it has stays, and its
// state says why nothing follows. The others go on for as long as they do not
// grow.
func (e *Engine) keepBudget() {
	used, largest := e.usedBytes(), (*backing)(nil)
	for _, b := range e.backings {
		if b.reflector.Refused() == nil && (largest == nil || b.usedBytes() > largest.usedBytes()) {
			largest = b
		}
	}
	grown := used > e.used
	e.used = used
	if used <= e.cfg.MaxBytes || !grown || largest == nil {
		return
	}
	largest.reflector.Refuse(api.TooLarge("the objects need more memory than the " +
		number(e.cfg.MaxBytes) + " bytes allowed; narrow " + largest.scope.Resource +
		" by namespace or selector, leave bodies out, or allow more"))
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
	e.out = (&wire.CollectionSchema{Collection: c.id, Schema: *c.backing.cacher.Schema()}).Append(e.out)
}

// report tells the state when it changes.
func (c *collection) report(e *Engine) {
	r := c.backing.reflector
	if denied := r.Denied(); denied != nil {
		c.backing.settle(denied)
	}
	state := r.State()
	state.Collection = c.id
	state.LastProgressMillis = e.outside(state.LastProgressMillis)
	if at := e.origin.retryAt(); at != 0 && state.State != wire.Closed {
		state.NextAttemptMillis = at
	}
	state.NextAttemptMillis = e.outside(state.NextAttemptMillis)
	if c.told == nil || state != *c.told {
		c.told = &state
		e.out = state.Append(e.out)
	}
}

func (e *Engine) reportFault(b *backing, f *wire.ObjectError) {
	for _, c := range e.collections {
		if c.backing == b {
			e.out = (&wire.CollectionError{
				Collection: c.id, Key: f.Key, ResourceVersion: f.ResourceVersion, Status: f.Status,
			}).Append(e.out)
		}
	}
}

func (e *Engine) reject(object wire.Object, id uint32, status *api.Status) {
	e.out = (&wire.Rejected{Object: object, ID: id, Status: status}).Append(e.out)
}

// columnsText tells columns apart.
func columnsText(columns []api.Column) string {
	text := ""
	for i := range columns {
		c := &columns[i]
		text += c.Name + "\n" + c.Path + "\n" + string([]byte{'0' + byte(c.Kind), '0' + c.Priority, '\n'})
	}
	return text
}
