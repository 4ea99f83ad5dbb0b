package connector

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/watchglass/watchglass/host/internal/backoff"
	"github.com/watchglass/watchglass/host/source"
)

const (
	// probeTimeout is how long the source may take to respond to a probe.
	probeTimeout = 3 * time.Second
	// probeAge is how long the result of a probe is reused.
	probeAge = time.Second
	// probePause is the mean time between two probes while a collection backs off.
	probePause = time.Second
)

// Ready returns nil if the connector can serve readers: it has a cached collection, which
// may be stale, or the source responds. An unreachable source therefore does not remove
// every replica from a load balancer. Stats reports which collections are current.
func (c *Connector) Ready(ctx context.Context) error {
	if c.cached() {
		return nil
	}
	return c.probe.check(ctx)
}

func (c *Connector) cached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, col := range c.collections {
		if col.cacher.Ready() {
			return true
		}
	}
	return false
}

// probe checks whether the source responds. Concurrent callers share one request,
// and later callers reuse its result for probeAge.
type probe struct {
	source source.Prober   // nil if the source does not implement Prober
	ends   context.Context // ends when the connector begins to close

	mu   sync.Mutex
	last *probed
}

// probed is one probe of the source. The fields at and err are set before done is closed.
type probed struct {
	done chan struct{}
	at   time.Time
	err  error
}

func newProbe(s source.Source, ends context.Context) *probe {
	prober, _ := s.(source.Prober)
	return &probe{source: prober, ends: ends}
}

// check returns nil if the source responds or is not a source.Prober, and otherwise an error
// that describes why the source does not respond.
func (p *probe) check(ctx context.Context) error {
	if p.source == nil {
		return nil
	}
	request, mine := p.join()
	if mine {
		p.run(request)
	}
	select {
	case <-request.done:
		return request.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the request that provides the result, and whether the caller must run it.
func (p *probe) join() (request *probed, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.usable() {
		return p.last, false
	}
	p.last = &probed{done: make(chan struct{})}
	return p.last, true
}

// usable reports whether the request is running or finished recently.
func (r *probed) usable() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.done:
		return time.Since(r.at) < probeAge
	default:
		return true
	}
}

// run sends the request. It continues after its caller's context is done, because other
// callers may wait for the result.
func (p *probe) run(r *probed) {
	ctx, cancel := context.WithTimeout(p.ends, probeTimeout)
	defer cancel()
	defer close(r.done)
	r.err = p.source.Ready(ctx)
	r.at = time.Now()
}

// retry schedules the attempts of one collection to stream from the source.
type retry struct {
	probe  *probe
	pauses backoff.Pauses
	away   bool // the last probe failed
}

// sleep waits between two attempts. It returns early if the source responds again after
// an outage, but not before the duration earliest, which the source requested. If the
// source responds but the next attempt fails, the next sleep takes the full time.
func (r *retry) sleep(ctx context.Context, wait, earliest time.Duration) {
	until := time.Now().Add(wait)
	if r.probe.source == nil {
		earliest = wait
	}
	backoff.Sleep(ctx, min(earliest, wait))
	for {
		backoff.Sleep(ctx, min(time.Until(until), probePause/2+rand.N(probePause)))
		if ctx.Err() != nil || time.Until(until) <= 0 {
			return
		}
		away := r.probe.check(ctx) != nil
		if r.away && !away {
			r.away = false
			return
		}
		r.away = away
	}
}
