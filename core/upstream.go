package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// parseUpstream parses a frame from the connector and returns a function that
// applies it, or nil for an unknown optional frame.
func (c *connection) parseUpstream(t wire.Type, payload []byte) (apply func() error, err error) {
	switch t {
	case wire.TypeWelcome:
		return parsed(payload, &wire.Welcome{}, c.welcome)
	case wire.TypeDictionary:
		return parsed(payload, &wire.Dictionary{}, c.dictionary)
	case wire.TypeSchema:
		return parsed(payload, &wire.Schema{}, c.schema)
	case wire.TypeLabelSet:
		return parsed(payload, &wire.LabelSet{}, func(f *wire.LabelSet) error {
			return c.to(f.Subscription, func(b *sharedCollection) error { b.reflector.LabelSet(f); return nil })
		})
	case wire.TypeSnapshotBegin:
		return parsed(payload, &wire.SnapshotBegin{}, func(f *wire.SnapshotBegin) error {
			return c.to(f.Subscription, func(b *sharedCollection) error { return b.reflector.SnapshotBegin(f) })
		})
	case wire.TypeSnapshotPart:
		return parsed(payload, &wire.SnapshotPart{Objects: c.takeChanges()}, func(f *wire.SnapshotPart) error {
			defer c.keepChanges(f.Objects)
			return c.to(f.Subscription, func(b *sharedCollection) error { return b.reflector.SnapshotPart(f, wire.Size(len(payload))) })
		})
	case wire.TypeSnapshotBlock:
		return parsed(payload, &wire.SnapshotBlock{}, func(f *wire.SnapshotBlock) error {
			return c.to(f.Subscription, func(b *sharedCollection) error { return b.reflector.SnapshotBlock(f, wire.Size(len(payload))) })
		})
	case wire.TypeSnapshotEnd:
		return parsed(payload, &wire.SnapshotEnd{}, func(f *wire.SnapshotEnd) error {
			return c.to(f.Subscription, func(b *sharedCollection) error { return b.reflector.SnapshotEnd(f) })
		})
	case wire.TypeEvents:
		return parsed(payload, &wire.Events{Changes: c.takeChanges()}, func(f *wire.Events) error {
			defer c.keepChanges(f.Changes)
			return c.to(f.Subscription, func(b *sharedCollection) error { return b.reflector.Changes(f, wire.Size(len(payload))) })
		})
	case wire.TypeProgress:
		return parsed(payload, &wire.Progress{}, func(f *wire.Progress) error {
			return c.to(f.Subscription, func(b *sharedCollection) error { return b.reflector.Progress(f) })
		})
	case wire.TypeSubscriptionStatus:
		return parsed(payload, &wire.SubscriptionStatus{}, c.ended)
	case wire.TypeObjectError:
		return parsed(payload, &wire.ObjectError{}, func(f *wire.ObjectError) error {
			return c.to(f.Subscription, func(b *sharedCollection) error { b.reflector.Fault(f); return nil })
		})
	case wire.TypeSourceError:
		return parsed(payload, &wire.SourceError{}, func(f *wire.SourceError) error {
			return c.to(f.Subscription, func(b *sharedCollection) error { b.reflector.SourceError(f); return nil })
		})
	case wire.TypePing:
		return parsed(payload, &wire.Ping{}, c.ping)
	}
	if t >= wire.Optional {
		return nil, nil
	}
	return nil, wire.Unknown(t)
}

func parsed[F interface{ Parse([]byte) error }](payload []byte, frame F, handle func(F) error) (func() error, error) {
	if err := frame.Parse(payload); err != nil {
		return nil, err
	}
	return func() error { return handle(frame) }, nil
}

// maxKeptChanges is more than a connector's message usually contains.
const maxKeptChanges = 4096

// takeChanges returns a buffer for the changes of a frame. keepChanges returns it
// after they were applied, and keeps the largest one. It clears the buffer,
// because changes alias the message.
func (c *connection) takeChanges() []wire.Change {
	changes := c.changes
	c.changes = nil
	return changes
}

func (c *connection) keepChanges(changes []wire.Change) {
	if cap(changes) <= maxKeptChanges && cap(changes) > cap(c.changes) {
		clear(changes)
		c.changes = changes[:0]
	}
}

// to passes a frame to the collection with the given subscription. It ignores
// frames of ended subscriptions, which may still arrive.
func (c *connection) to(subscription uint32, handle func(*sharedCollection) error) error {
	for _, b := range c.engine.sharedCollections {
		if subscription != 0 && b.reflector.Subscription() == subscription {
			return handle(b)
		}
	}
	return nil
}

func (c *connection) schema(f *wire.Schema) error {
	return c.to(f.Subscription, func(b *sharedCollection) error {
		dictionary, err := c.findDictionary(f.Dictionary)
		if err == nil {
			c.engine.describe(b, f, dictionary)
		}
		return err
	})
}

// ping responds after all earlier frames were processed.
func (c *connection) ping(f *wire.Ping) error {
	c.send = (&wire.Pong{Mark: f.Mark}).Append(c.send)
	return nil
}

// ended handles the end of a subscription or of the whole connection.
func (c *connection) ended(f *wire.SubscriptionStatus) error {
	status := f.Status
	if f.Subscription != 0 {
		return c.to(f.Subscription, func(b *sharedCollection) error { b.reflector.Ended(status); return nil })
	}
	if status == nil {
		status = api.Unavailable("the connector closed the connection and gave no reason")
	}
	c.refusals++
	c.retry(status)
	return nil
}
