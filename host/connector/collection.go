package connector

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/host/limit"
)

// collection is one resource that somebody reads, or read a moment ago. Its
// upstream watch runs as long as it exists.
type collection struct {
	connector *Connector
	resource  api.Resource
	schema    *api.Schema
	stop      context.CancelFunc // of the upstream watch

	ready  chan struct{} // closed with the first complete list
	gone   chan struct{} // closed when it is not the resource's collection any more
	wanted chan struct{} // cap 1: the source is asked for progress

	// Guarded by connector.mu.
	cacher    *cacher.Cacher
	readers   map[*reader]int // subscriptions of each
	holds     int             // those who use it without being readers
	idleSince time.Time       // when it was last used
	linger    *time.Timer     // runs while nobody uses it
	clock     *time.Timer     // for the cacher's next tick
	prompter  *time.Timer     // runs between two requests for progress
	status    upstream
}

// upstream is what Stats tells of a collection's watch.
type upstream struct {
	failures int // in a row
	err      error
	since    time.Time // the first of them
}

// acquire adds a subscription of r, starting the upstream watch if it is the
// first. The caller holds the lock.
func (c *Connector) acquire(r *reader, schema *api.Schema) (*cacher.Cacher, *api.Status) {
	col, status := c.present(schema)
	if status != nil {
		return nil, status
	}
	col.readers[r]++
	return col.cacher, nil
}

// present returns the collection of a resource, which runs from here on. The
// caller holds the lock, and makes itself a user of it before letting go.
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
		cacher:    cacher.New(cacher.Config{Schema: *schema, History: c.config.History, Seed: rand.Uint64(), Bases: rand.Uint64()}),
		readers:   map[*reader]int{},
	}
	col.cacher.SetDictionary(decoder.dictionary)
	c.collections[col.resource] = col
	c.running.Go(func() { col.run(ctx, decoder) })
	return col
}

// release takes one subscription of r away. The caller holds the lock.
func (c *Connector) release(r *reader, resource api.Resource) {
	col := c.collections[resource]
	if col == nil || col.readers[r] == 0 {
		return
	}
	if col.readers[r]--; col.readers[r] > 0 {
		return
	}
	delete(col.readers, r)
	col.left()
}

// left starts the linger if the user that left was the last. The caller holds
// the lock.
func (col *collection) left() {
	if col.used() || col.connector.closed || col.connector.collections[col.resource] != col {
		return
	}
	col.idleSince = time.Now()
	col.linger = time.AfterFunc(col.connector.config.Limits.Duration(limit.Linger), col.expire)
}

func (col *collection) used() bool { return len(col.readers) > 0 || col.holds > 0 }

// expire ends the collection if it is still idle. A timer that lost the race
// against a new user finds the collection in use, or idle since a moment ago.
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

// end stops the upstream watch for good. The caller holds the lock.
func (col *collection) end() {
	col.stop()
	close(col.gone)
}

// retire ends a collection whose resource is described differently now. Its
// readers are told to list anew, and get another collection then.
func (col *collection) retire(why error) {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	c.config.Logger.Info("listing a resource anew", "resource", col.resource.String(), "reason", why)
	delete(c.collections, col.resource)
	col.stopLinger()
	col.end()
	status := api.Expired(why.Error())
	for r := range col.readers {
		r.session.End(status, func(_ uint32, other *cacher.Cacher) bool { return other == col.cacher })
		r.wake()
	}
}

// stopTimers is for the end of the connector. The caller holds the lock.
func (col *collection) stopTimers() {
	col.stopLinger()
	for _, timer := range []*time.Timer{col.clock, col.prompter} {
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

// change runs f under the lock, and then has the readers told, or wakes them, that
// the cachers have asked for since the last change. Those that a change does not
// concern sleep on.
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
	return c.tell(woken)
}

// update is change for what no reader needs to look at yet.
func (col *collection) update(f func(now int64)) {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.now())
	col.wind()
}

// ask is update for requests, whose options and deadlines count from now.
func (col *collection) ask(f func(*cacher.Cacher)) {
	col.update(func(now int64) {
		col.cacher.Tick(now)
		f(col.cacher)
	})
}

// wind sets the clock to when the cacher wants to be told the time: for the
// bookmarks and deadlines of watches, for reads that wait. The caller holds the
// lock.
func (col *collection) wind() {
	col.prompt()
	next := col.cacher.NextTick()
	if next == 0 || col.connector.closed {
		return
	}
	wait := max(time.Duration(next-col.connector.now())*time.Millisecond, 0)
	if col.clock == nil {
		col.clock = time.AfterFunc(wait, func() { col.ask(func(*cacher.Cacher) {}) })
		return
	}
	col.clock.Reset(wait)
}

// promptPause is between two requests for progress (rule C35).
const promptPause = 100 * time.Millisecond

// prompt asks the source for progress, and again and again while a read waits for
// it, here or at a reader. The caller holds the lock.
func (col *collection) prompt() {
	if col.prompter != nil || col.connector.closed || !col.cacher.HasWaiters() {
		return
	}
	select {
	case col.wanted <- struct{}{}:
	default: // it has not got round to the last request
	}
	col.prompter = time.AfterFunc(promptPause, func() { col.update(func(int64) { col.prompter = nil }) })
}
