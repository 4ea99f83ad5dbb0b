package connector

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Hold keeps a resource's upstream watch running as if somebody read it, and
// returns once its first list is complete. release lets it go; call it once.
func (c *Connector) Hold(ctx context.Context, resource api.Resource) (release func(), err error) {
	col, err := c.hold(ctx, resource)
	if err != nil {
		return nil, err
	}
	return col.release, nil
}

// hold is Hold for those who use the collection, and release it.
func (c *Connector) hold(ctx context.Context, resource api.Resource) (*collection, error) {
	for {
		col, err := c.take(ctx, resource)
		if err != nil {
			return nil, err
		}
		select {
		case <-col.ready:
			return col, nil
		case <-col.gone: // there is another
			err = nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.stopping.Done():
			err = errClosing()
		}
		col.release()
		if err != nil {
			return nil, err
		}
	}
}

// take makes the caller a user of the resource's collection.
func (c *Connector) take(ctx context.Context, resource api.Resource) (*collection, error) {
	found := c.schema(ctx, resource)
	if found.status != nil {
		return nil, found.status
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	col, status := c.present(found.schema)
	if status != nil {
		return nil, status
	}
	col.holds++
	return col, nil
}

// release takes back a hold.
func (col *collection) release() {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	col.holds--
	col.left()
}
