package connector

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
)

// Hold runs the upstream watch of a resource as if a reader used it, and returns after the
// first complete list. The caller must call release once, which ends the hold.
func (c *Connector) Hold(ctx context.Context, resource api.Resource) (release func(), err error) {
	col, err := c.hold(ctx, resource, waitForever)
	if err != nil {
		return nil, err
	}
	return col.release, nil
}

func waitForever(*collection) error { return nil }

// hold is like Hold, but returns the collection, which the caller must release. It calls
// waiting before it waits, and again after each failure of the source. If waiting returns
// an error, hold returns this error.
func (c *Connector) hold(ctx context.Context, resource api.Resource, waiting func(*collection) error) (*collection, error) {
	for {
		col, err := c.take(ctx, resource)
		if err != nil {
			return nil, err
		}
		failed := col.nextFailure()
		select {
		case <-col.ready:
			return col, nil
		default:
			err = waiting(col)
		}
		if err != nil {
			col.release()
			return nil, err
		}
		select {
		case <-col.ready:
			return col, nil
		case <-failed:
		case <-col.gone: // the resource has a new collection
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.stopping.Done():
			err = c.closing()
		}
		col.release()
		if err != nil {
			return nil, err
		}
	}
}

// take registers the caller as a user of the resource's collection.
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

// release undoes a call to take.
func (col *collection) release() {
	c := col.connector
	c.mu.Lock()
	defer c.mu.Unlock()
	col.holds--
	col.left()
}
