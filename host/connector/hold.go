package connector

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Hold keeps a resource's upstream watch running as if somebody read it, and
// returns once its first list is complete. release lets it go; call it once.
func (c *Connector) Hold(ctx context.Context, resource api.Resource) (release func(), err error) {
	col, err := c.hold(ctx, resource, waitFreely)
	if err != nil {
		return nil, err
	}
	return col.release, nil
}

func waitFreely() error { return nil }

// hold is Hold for those who use the collection, and release it. It calls waiting
// before it waits, and gives up if that fails.
func (c *Connector) hold(ctx context.Context, resource api.Resource, waiting func() error) (*collection, error) {
	for {
		col, err := c.take(ctx, resource)
		if err != nil {
			return nil, err
		}
		select {
		case <-col.ready:
			return col, nil
		default:
			err = waiting()
		}
		if err != nil {
			col.release()
			return nil, err
		}
		select {
		case <-col.ready:
			return col, nil
		case <-col.gone: // there is another
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.stopping.Done():
			err = c.goodbye()
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
