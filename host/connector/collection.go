package connector

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/limit"
)

// collection is the cached state of a resource that is in use or was used recently. Its
// upstream watch runs as long as the collection exists.
type collection struct {
	connector *Connector
	resource  api.Resource
	schema    *api.Schema
	stop      context.CancelFunc // stops the upstream watch

	ready  chan struct{} // closed after the first complete list
	gone   chan struct{} // closed when the connector drops the collection
	wanted chan struct{} // capacity 1; requests progress from the source

	// Guarded by connector.mu.
	cacher        *cacher.Cacher
	served        *session.Collection // the cacher, as sessions read it
	readers       map[*reader]int     // number of subscriptions per reader
	subscriptions int                 // sum of the values in readers
	holds         int                 // number of other users, such as requests of the Kubernetes API
	idleSince     time.Time           // when the last user left
	linger        *time.Timer         // calls expire; runs while the collection is unused
	clock         *time.Timer         // timer for the cacher's next tick
	progressTimer *time.Timer         // runs between two requests for progress
	status        upstream
	totals        *ResourceTotals
	opened        time.Time
	failure       chan struct{} // closed and replaced when the source fails
}

// upstream describes the failures of an upstream watch since the source last delivered data.
type upstream struct {
	failures int // number of consecutive failures
	err      error
	since    time.Time // time of the first failure
}

// acquire adds a subscription of r to the collection of a resource, and starts its
// upstream watch if necessary. The caller holds the lock.
func (c *Connector) acquire(r *reader, schema *api.Schema) (*session.Collection, *api.Status) {
	col, status := c.present(schema)
	if status != nil {
		return nil, status
	}
	col.readers[r]++
	col.subscriptions++
	return col.served, nil
}

// present returns the collection of a resource, and starts its upstream watch if necessary.
// The caller holds the lock, and must register as a user of the collection before it
// releases the lock.
func (c *Connector) present(schema *api.Schema) (*collection, *api.Status) {
	if c.closed {
		return nil, c.errClosing()
	}
	col := c.collections[schema.Resource]
	if col == nil {
		decoder, err := newDecoder(schema, &c.config)
		if err != nil {
			return nil, api.AsStatus(err)
		}
		col = c.open(schema, decoder)
	}
	col.stopLinger()
	return col, nil
}

func (c *Connector) open(schema *api.Schema, decoder *decoder) *collection {
	ctx, stop := context.WithCancel(c.stopping)
	col := &collection{
		connector: c,
		resource:  schema.Resource,
		schema:    schema,
		stop:      stop,
		ready:     make(chan struct{}),
		gone:      make(chan struct{}),
		wanted:    make(chan struct{}, 1),
		cacher:    cacher.New(cacher.Config{Schema: *schema, History: c.config.History, Seed: rand.Uint64(), DeltaEpoch: rand.Uint64()}),
		readers:   map[*reader]int{},
		failure:   make(chan struct{}),
		totals:    c.counted[schema.Resource],
		opened:    time.Now(),
	}
	if col.totals == nil {
		col.totals = new(ResourceTotals)
		c.counted[col.resource] = col.totals
	}
	col.served = session.NewCollection(col.cacher)
	col.cacher.Bodies().SetDictionary(decoder.dictionary)
	c.collections[col.resource] = col
	c.running.Go(func() { col.run(ctx, decoder) })
	return col
}

// release removes a subscription of r. The caller holds the lock.
func (c *Connector) release(r *reader, resource api.Resource) {
	col := c.collections[resource]
	if col == nil || col.readers[r] == 0 {
		return
	}
	col.subscriptions--
	if col.readers[r]--; col.readers[r] > 0 {
		return
	}
	delete(col.readers, r)
	col.left()
}

// left starts the linger timer if the collection is unused. The caller holds the
// lock.
func (col *collection) left() {
	if col.used() || col.connector.closed || col.connector.collections[col.resource] != col {
		return
	}
	col.idleSince = time.Now()
	col.linger = time.AfterFunc(col.connector.config.Limits.Duration(limit.Linger), col.expire)
}

func (col *collection) used() bool { return len(col.readers) > 0 || col.holds > 0 }

// expire ends the collection if it has been unused for the linger time. It checks again,
// because a user may have arrived, or arrived and left, since the timer fired.
func (col *collection) expire() {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || col.used() || c.collections[col.resource] != col || time.Since(col.idleSince) < c.config.Limits.Duration(limit.Linger) {
		return
	}
	delete(c.collections, col.resource)
	col.end()
}

// end stops the upstream watch permanently. Counters outlive the collection, except the
// counters of a resource that was never listed. Clients choose the names of such
// resources, so keeping these counters would use unbounded memory. The caller holds the
// lock.
func (col *collection) end() {
	col.totals.Watches.Add(col.cacher.Watches().Counts())
	if col.totals.Lists == 0 {
		delete(col.connector.counted, col.resource)
	}
	col.stop()
	close(col.gone)
}

// retire ends a collection whose resource has a new schema. It ends the subscriptions
// with 410, so that readers subscribe to the new collection.
func (col *collection) retire(why error) {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	c.config.Logger.Info("relisting a resource", "resource", col.resource.String(), "reason", why)
	delete(c.collections, col.resource)
	col.stopLinger()
	col.end()
	status := api.Expired(why.Error())
	for r := range col.readers {
		r.session.End(status, func(_ uint32, other *cacher.Cacher) bool { return other == col.cacher })
		r.wake()
	}
}

// stopTimers stops the timers when the connector closes. The caller holds the lock.
func (col *collection) stopTimers() {
	col.stopLinger()
	for _, timer := range []*time.Timer{col.clock, col.progressTimer} {
		if timer != nil {
			timer.Stop()
		}
	}
}

func (col *collection) stopLinger() {
	if col.linger != nil {
		col.linger.Stop()
		col.linger = nil
	}
}

// change runs f under the lock. It then takes the readers that the cachers have marked,
// and queues each one for the send pool or wakes its goroutine. Readers that are not
// marked stay asleep.
func (col *collection) change(f func(now int64)) {
	for _, r := range col.locked(f) {
		r.wake()
	}
}

func (col *collection) locked(f func(now int64)) (woken []*reader) {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.now())
	col.wind()
	woken, c.woken = c.woken, nil
	if !c.received.IsZero() {
		for _, r := range woken {
			if r.received.IsZero() {
				r.received = c.received
			}
		}
		c.received = time.Time{}
	}
	return c.notify(woken)
}

// update is like change, but leaves the marked readers for the next change.
func (col *collection) update(f func(now int64)) {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.now())
	col.wind()
}

// request is like update, but first advances the clock of the cacher. The deadlines of
// requests that f makes are therefore computed from the current time.
func (col *collection) request(f func(*cacher.Cacher)) {
	col.update(func(now int64) {
		col.cacher.Tick(now)
		f(col.cacher)
	})
}

// wind requests progress if a read waits for it, and sets the timer for the cacher's next
// deadline. Bookmarks, watch timeouts and waiting reads have deadlines. The caller holds
// the lock.
func (col *collection) wind() {
	col.requestProgress()
	next := col.cacher.NextTick()
	if next == 0 || col.connector.closed {
		return
	}
	wait := max(time.Duration(next-col.connector.now())*time.Millisecond, 0)
	if col.clock == nil {
		col.clock = time.AfterFunc(wait, func() { col.request(func(*cacher.Cacher) {}) })
		return
	}
	col.clock.Reset(wait)
}

// progressRequestPause is the time between two requests for progress (rule C35).
const progressRequestPause = 100 * time.Millisecond

// requestProgress requests progress from the source if a local read or a reader waits for
// progress. It repeats the request while any of them waits. The caller holds the lock.
func (col *collection) requestProgress() {
	if col.progressTimer != nil || col.connector.closed || !col.cacher.Waits().Any() {
		return
	}
	select {
	case col.wanted <- struct{}{}:
	default: // the last request is still queued
	}
	col.progressTimer = time.AfterFunc(progressRequestPause, func() { col.update(func(int64) { col.progressTimer = nil }) })
}
