package connector

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// Connector serves readers from one source. Safe for concurrent use.
type Connector struct {
	config Config
	access access.Policy // Config.Access, enforced
	probe  *probe
	start  time.Time // of a monotonic clock

	// stopping ends when Close begins: upstream watches stop and readers are
	// told goodbye. killed ends when Close runs out of patience.
	stopping, killed context.Context
	stop, kill       context.CancelFunc
	running          sync.WaitGroup // upstream watches and readers

	turn        sync.Mutex // taken before mu by readers that are sent a lot
	mu          sync.Mutex // guards what follows, and the whole core
	closed      bool
	collections map[api.Resource]*collection
	readers     map[*reader]struct{}
	connected   int       // readers, from before their Hello on
	leaving     int       // readers connected when the first was sent away
	greeted     int       // of them, those with a user
	woken       []*reader // by the change under way: there may be something to send
	tellers     tellers
	totals      Totals
	allowances  map[string]*allowance // by the name of the client
	listBytes   int                   // copied for lists that are being sent
}

// New makes a connector. It does nothing until somebody reads. The caller
// closes it.
func New(config Config) *Connector {
	config = config.withDefaults()
	c := &Connector{
		config:      config,
		access:      access.Enforce(config.Access, config.Limits, config.Observer),
		start:       time.Now(),
		collections: map[api.Resource]*collection{},
		readers:     map[*reader]struct{}{},
		allowances:  map[string]*allowance{},
		tellers:     newTellers(),
	}
	c.stopping, c.stop = context.WithCancel(context.Background())
	c.probe = newProbe(config.Source, c.stopping)
	c.killed, c.kill = context.WithCancel(context.Background())
	return c
}

// Close stops the upstream watches, says goodbye to the readers and waits until
// every goroutine has ended. When ctx ends first it cuts the connections that
// are left and returns the context's error.
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
	go func() { // ends with the last of those it waits for
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
	// returnsPerSecond is how many readers of a connector that closes return to
	// another one in a second, on average.
	returnsPerSecond = 100
	maxReturnSeconds = 30
)

// errClosing returns the goodbye of a connector that closes. The more readers there
// are, the longer is the time over which their return is spread. It runs under the
// lock.
func (c *Connector) errClosing() *api.Status {
	c.leaving = max(c.leaving, c.connected)
	return &api.Status{
		Code: 503, Reason: api.ReasonUnavailable,
		RetryAfterSeconds: 1 + rand.IntN(min(1+c.leaving/returnsPerSecond, maxReturnSeconds)),
		Message:           "the connector is shutting down: connect again and resume from the last resource version",
	}
}

// Limits returns the limits in force and their counts.
func (c *Connector) Limits() *limit.Set { return c.config.Limits }

// goodbye is errClosing for callers that do not hold the lock.
func (c *Connector) goodbye() *api.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errClosing()
}

// connect counts a new reader, or returns why there is none. Every connected reader
// calls c.running.Done when it has left.
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

// greet counts a reader whose token was accepted, or returns why it is refused. It
// runs under the lock.
func (c *Connector) greet() *api.Status {
	if c.greeted >= c.config.Limits.Int(limit.MaxReaders) {
		c.totals.Refused++
		return c.config.Limits.Refuse(limit.MaxReaders, "the connector has as many readers as it serves at once: try again later")
	}
	c.greeted++
	return nil
}

// now is the time in milliseconds since the epoch. It never goes back.
func (c *Connector) now() int64 {
	return c.start.UnixMilli() + time.Since(c.start).Milliseconds()
}
