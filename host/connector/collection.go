package connector

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/envelope"
)

// collection is one resource that somebody reads, or read a moment ago. Its
// upstream watch runs as long as it exists.
type collection struct {
	connector *Connector
	resource  api.Resource
	schema    *api.Schema
	stop      context.CancelFunc // of the upstream watch

	// Guarded by connector.mu.
	cacher    *cacher.Cacher
	readers   map[*reader]int // subscriptions of each
	idleSince time.Time       // when readers became empty
	linger    *time.Timer     // runs while readers is empty
	status    upstream
}

// upstream is what Stats tells of a collection's watch.
type upstream struct {
	failures int // in a row
	err      error
}

// acquire adds a subscription of r, starting the upstream watch if it is the
// first. The caller holds the lock.
func (c *Connector) acquire(r *reader, schema *api.Schema) (*cacher.Cacher, *api.Status) {
	if c.closed {
		return nil, errClosing()
	}
	col := c.collections[schema.Resource]
	if col == nil {
		scanner, err := envelope.NewScanner(schema)
		if err != nil {
			return nil, api.AsStatus(err)
		}
		col = c.open(schema, scanner)
	}
	col.stopLinger()
	col.readers[r]++
	return col.cacher, nil
}

func (c *Connector) open(schema *api.Schema, scanner *envelope.Scanner) *collection {
	ctx, stop := context.WithCancel(c.stopping)
	col := &collection{
		connector: c,
		resource:  schema.Resource,
		schema:    schema,
		stop:      stop,
		cacher:    cacher.New(cacher.Config{Schema: *schema, History: c.config.History, Seed: rand.Uint64()}),
		readers:   map[*reader]int{},
	}
	c.collections[col.resource] = col
	c.running.Go(func() { col.run(ctx, scanner) })
	return col
}

// release takes one subscription of r away; the last one starts the linger.
// The caller holds the lock.
func (c *Connector) release(r *reader, resource api.Resource) {
	col := c.collections[resource]
	if col == nil || col.readers[r] == 0 {
		return
	}
	if col.readers[r]--; col.readers[r] > 0 {
		return
	}
	delete(col.readers, r)
	if len(col.readers) == 0 && !c.closed {
		col.idleSince = time.Now()
		col.linger = time.AfterFunc(c.config.Linger, col.expire)
	}
}

// expire ends the collection if it is still idle. A timer that lost the race
// against a new reader finds the collection in use, or idle since a moment ago.
func (col *collection) expire() {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(col.readers) > 0 || time.Since(col.idleSince) < c.config.Linger {
		return
	}
	delete(c.collections, col.resource)
	col.stop()
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
	col.stop()
	status := api.Expired(why.Error())
	for r := range col.readers {
		if r.session != nil {
			r.session.End(status, func(_ uint32, other *cacher.Cacher) bool { return other == col.cacher })
		}
		r.wake()
	}
}

func (col *collection) stopLinger() {
	if col.linger != nil {
		col.linger.Stop()
		col.linger = nil
	}
}

// change runs f under the lock and wakes the readers of the collection.
func (col *collection) change(f func(now int64)) {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.now())
	for r := range col.readers {
		r.wake()
	}
}

// update is change for what no reader needs to look at yet.
func (col *collection) update(f func(now int64)) {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.now())
}
