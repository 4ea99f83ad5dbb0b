package connector

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Hold keeps a resource's upstream watch running as if somebody read it, and
// returns once its first list is complete. release lets it go; call it once.
func (c *Connector) Hold(ctx context.Context, resource api.Resource) (release func(), err error) {
	r := &reader{connector: c, signal: make(chan struct{}, 1)}
	found := r.schema(ctx, resource)
	if found.status != nil {
		return nil, found.status
	}
	c.mu.Lock()
	cacher, status := c.acquire(r, found.schema)
	c.mu.Unlock()
	if status != nil {
		return nil, status
	}
	release = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.release(r, resource)
	}
	for {
		c.mu.Lock()
		ready := cacher.Ready()
		c.mu.Unlock()
		if ready {
			return release, nil
		}
		select {
		case <-r.signal:
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		case <-c.stopping.Done():
			release()
			return nil, errClosing()
		}
	}
}
