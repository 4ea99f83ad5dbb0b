package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// parseUpstream parses a frame from the connector. It returns nil for an unknown
// optional frame.
func (c *connection) parseUpstream(t wire.Type, payload []byte) (wire.Frame, error) {
	f, err := wire.FromConnector.New(t)
	switch f := f.(type) {
	case nil:
		return nil, err
	case *wire.SnapshotPart:
		f.Objects = c.takeChanges()
	case *wire.Events:
		f.Changes = c.takeChanges()
	}
	return f, f.Parse(payload)
}

// applyUpstream applies a frame from the connector.
func (c *connection) applyUpstream(frame upstreamFrame) error {
	switch f := frame.Frame.(type) {
	case *wire.Welcome:
		return c.welcome(f)
	case *wire.Dictionary:
		return c.dictionary(f)
	case *wire.Schema:
		return c.schema(f)
	case *wire.Ping:
		return c.ping(f)
	case *wire.SubscriptionStatus:
		if f.Subscription == 0 {
			c.ended(f.Status)
			return nil
		}
	case *wire.SnapshotPart:
		defer c.reuseChanges(f.Objects)
	case *wire.Events:
		defer c.reuseChanges(f.Changes)
	case *wire.SnapshotBlock:
		defer c.grown(int(f.Envelopes) + int(f.Bodies))
	case *wire.SnapshotBodies:
		defer c.grown(int(f.Bodies))
	}
	if b := c.subscriber(frame.subscription); b != nil {
		return b.reflector.Receive(frame.Frame, frame.size)
	}
	return nil
}

// maxReusedChanges is the largest capacity of a buffer that is reused. A connector's
// message usually contains fewer changes.
const maxReusedChanges = 4096

// takeChanges returns a buffer for the changes of a frame. After the changes are applied,
// reuseChanges keeps the largest buffer of at most maxReusedChanges for the next frame.
// It clears that buffer, because changes alias the message.
func (c *connection) takeChanges() []wire.Change {
	changes := c.changes
	c.changes = nil
	return changes
}

func (c *connection) reuseChanges(changes []wire.Change) {
	if cap(changes) <= maxReusedChanges && cap(changes) > cap(c.changes) {
		clear(changes)
		c.changes = changes[:0]
	}
}

// maxGrowth is the number of decompressed bytes after which the engine enforces the
// memory limit within a message of blocks. Ordinary messages from a connector decompress
// to less.
const maxGrowth = 2 << 20

// grown counts the bytes of a decompressed block, and enforces the memory limit each
// time the count reaches maxGrowth.
func (c *connection) grown(bytes int) {
	if c.growth += bytes; c.growth >= maxGrowth {
		c.growth = 0
		c.engine.enforceMemoryLimit()
	}
}

// subscriber returns the collection with the given subscription. It returns nil for
// ended subscriptions, whose frames may still arrive.
func (c *connection) subscriber(subscription uint32) *sharedCollection {
	for _, b := range c.engine.sharedCollections {
		if subscription != 0 && b.reflector.Subscription() == subscription {
			return b
		}
	}
	return nil
}

func (c *connection) schema(f *wire.Schema) error {
	b := c.subscriber(f.Subscription)
	if b == nil {
		return nil
	}
	if !reflector.HasColumns(&f.Schema, b.columns) {
		c.lacksColumns(b)
		return nil
	}
	dictionary, err := c.findDictionary(f.Dictionary)
	if err == nil {
		c.engine.describe(b, f, dictionary)
	}
	return err
}

// lacksColumns handles a connector that ignores the chosen columns. A collection that
// already has a state keeps it and subscribes again later. Other collections are refused.
func (c *connection) lacksColumns(b *sharedCollection) {
	status := api.BadRequest("connector " + c.server + " does not compute columns: upgrade it, or open the collection without columns")
	status.Cause = "ColumnsUnsupported"
	if b.cacher.Ready() {
		status.Code, status.Reason = api.CodeServiceUnavailable, api.ReasonUnavailable
		b.reflector.Postpone(status)
		return
	}
	b.reflector.Refuse(status)
}

// ping responds after all earlier frames were processed.
func (c *connection) ping(f *wire.Ping) error {
	c.send = (&wire.Pong{Mark: f.Mark}).Append(c.send)
	return nil
}

// ended handles the last frame of a connector that ends the connection. It closes the
// connection and schedules another attempt.
func (c *connection) ended(status *api.Status) {
	if status == nil {
		status = api.Unavailable("the connector closed the connection and gave no reason")
	}
	c.refusals++
	c.retry(status)
}
