package connector

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// Connector serves readers from one source. It is safe for concurrent use.
type Connector struct {
	config Config
	access access.Policy // Config.Access with limits and the observer
	probe  *probe
	start  time.Time // start of the monotonic clock

	// stopping is canceled when Close begins. Upstream watches then stop, and readers receive
	// the closing status. killed is canceled when Close returns, which closes the remaining
	// connections.
	stopping, killed context.Context
	stop, kill       context.CancelFunc
	running          sync.WaitGroup // goroutines of upstream watches, readers, preloads and the send pool

	turn        turn       // acquired before mu by lists and by readers with long messages
	mu          sync.Mutex // guards the following fields and all of the core
	closed      bool
	collections map[api.Resource]*collection
	readers     map[*reader]struct{}
	connected   int       // number of readers, including those without a Hello
	leaving     int       // number of readers when Close began
	greeted     int       // number of readers with an authenticated user
	woken       []*reader // readers that the current change may affect, as marked by Wake
	sendPool    sendPool
	totals      Totals
	errors      map[int]uint64 // see Stats.Errors
	counted     map[api.Resource]*ResourceTotals
	received    time.Time             // when the source delivered the current changes; zero if there are none
	allowances  map[string]*allowance // by client name
	listBytes   int                   // size of the copies of lists that are being sent
	deflater    deflater
	decoder     body.Decoder              // decodes bodies for the columns that readers request
	preloading  map[api.Resource]struct{} // resources of Config.Preload that have not been listed yet
}

// New returns a connector. It performs no I/O until a resource is read or preloaded. The
// caller must close it.
func New(config Config) *Connector {
	config = config.withDefaults()
	c := &Connector{
		config:      config,
		access:      access.Enforce(config.Access, config.Limits, config.Observer),
		start:       time.Now(),
		turn:        make(turn, 1),
		collections: map[api.Resource]*collection{},
		readers:     map[*reader]struct{}{},
		errors:      map[int]uint64{api.CodeGone: 0},
		counted:     map[api.Resource]*ResourceTotals{},
		allowances:  map[string]*allowance{},
		sendPool:    newSendPool(),
		preloading:  map[api.Resource]struct{}{},
	}
	c.stopping, c.stop = context.WithCancel(context.Background())
	c.probe = newProbe(config.Source, c.stopping)
	c.killed, c.kill = context.WithCancel(context.Background())
	for _, resource := range config.Preload {
		c.preloading[resource] = struct{}{}
	}
	for resource := range maps.Clone(c.preloading) {
		c.running.Go(func() { c.preload(resource) })
	}
	return c
}

// Close stops the upstream watches, sends the readers the closing status, and waits
// until every goroutine has ended. If ctx is done first, it closes the remaining
// connections and returns the context's error.
func (c *Connector) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	for _, col := range c.collections {
		col.stopTimers()
	}
	c.mu.Unlock()
	c.stop()
	defer c.kill()

	done := make(chan struct{})
	go func() { // ends when every goroutine in c.running has ended
		c.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	// returnsPerSecond is the average rate at which the readers of a closing connector
	// reconnect to another one.
	returnsPerSecond = 100
	maxReturnSeconds = 30
)

// errClosing returns the status that readers of a closing connector receive. A random
// RetryAfterSeconds spreads the reconnects over a time proportional to the number of
// readers, up to maxReturnSeconds. The caller holds the lock.
func (c *Connector) errClosing() *api.Status {
	c.leaving = max(c.leaving, c.connected)
	return &api.Status{
		Code: api.CodeServiceUnavailable, Reason: api.ReasonUnavailable,
		RetryAfterSeconds: 1 + rand.IntN(min(1+c.leaving/returnsPerSecond, maxReturnSeconds)),
		Message:           "the connector is shutting down: connect again and resume from the last resource version",
	}
}

// Limits returns the limits in force, with the counts of refusals.
func (c *Connector) Limits() *limit.Set { return c.config.Limits }

// closing is like errClosing, for callers that do not hold the lock.
func (c *Connector) closing() *api.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errClosing()
}

// connect counts a new reader and returns nil, or returns why the reader is refused. If
// connect returns nil, the caller must call c.running.Done when the reader leaves.
func (c *Connector) connect() *api.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.errClosing()
	}
	if status := c.refuseWork(); status != nil {
		c.totals.Refused++
		return status
	}
	c.connected++
	c.totals.Connections++
	c.running.Add(1)
	return nil
}

// greet counts a reader whose token was accepted, or returns why the reader is refused.
// The caller holds the lock.
func (c *Connector) greet() *api.Status {
	if c.greeted >= c.config.Limits.Int(limit.MaxReaders) {
		c.totals.Refused++
		return c.config.Limits.Refuse(limit.MaxReaders, "the connector already serves the maximum number of readers: try again later")
	}
	c.greeted++
	return nil
}

// now returns the time in milliseconds since the Unix epoch. Its result never decreases.
func (c *Connector) now() int64 {
	return c.start.UnixMilli() + time.Since(c.start).Milliseconds()
}
