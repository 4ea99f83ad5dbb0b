package connector

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/internal/backoff"
)

// preload caches a resource until the connector closes. The history then begins before the
// first reader arrives, so that readers of another connector can resume at this one.
func (c *Connector) preload(resource api.Resource) {
	var pauses backoff.Pauses
	var last error
	for c.stopping.Err() == nil {
		col, err := c.hold(c.stopping, resource, permitted)
		if c.stopping.Err() != nil {
			return
		}
		c.tried(resource)
		if err == nil {
			last = nil
			select {
			case <-col.gone: // the resource has a new collection
			case <-c.stopping.Done():
			}
			col.release()
			continue
		}
		if last == nil || last.Error() != err.Error() {
			c.config.Logger.Warn("a resource cannot be preloaded; retrying", "resource", resource.String(), "error", err)
			last = err
		}
		backoff.Sleep(c.stopping, pauses.Next(time.Now()))
	}
}

// permitted returns an error if the source does not permit the connector to read a
// collection, and nil otherwise.
func permitted(col *collection) error {
	if status := col.denial(); status != nil {
		return status
	}
	return nil
}

// tried removes a resource from the set that Preloaded reports. preload calls tried once
// the resource has been listed or cannot be listed.
func (c *Connector) tried(resource api.Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.preloading, resource)
}

// Preloaded returns an error while resources of Config.Preload are being listed for the
// first time. Otherwise, it returns nil. It ignores resources that do not exist, or that
// the connector may not read.
func (c *Connector) Preloaded() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.preloading) == 0 {
		return nil
	}
	var names []string
	for resource := range c.preloading {
		names = append(names, resource.String())
	}
	slices.Sort(names)
	return errors.New(strings.Join(names, ", ") + ": the first list is not complete")
}
