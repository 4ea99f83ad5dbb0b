package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// decodeUpstream parses a frame of the connector and, given a connection,
// applies it.
func decodeUpstream(t wire.Type, payload []byte, c *connection) error {
	switch t {
	case wire.TypeWelcome:
		return upstream(c, payload, &wire.Welcome{}, (*connection).welcome)
	case wire.TypeDictionary:
		return upstream(c, payload, &wire.Dictionary{}, (*connection).dictionary)
	case wire.TypeSchema:
		return upstream(c, payload, &wire.Schema{}, (*connection).schema)
	case wire.TypeLabelSet:
		return upstream(c, payload, &wire.LabelSet{}, func(c *connection, f *wire.LabelSet) error {
			return c.to(f.Subscription, func(b *backing) error { b.reflector.LabelSet(f); return nil })
		})
	case wire.TypeSnapshotBegin:
		return upstream(c, payload, &wire.SnapshotBegin{}, func(c *connection, f *wire.SnapshotBegin) error {
			return c.to(f.Subscription, func(b *backing) error { return b.reflector.SnapshotBegin(f) })
		})
	case wire.TypeSnapshotPart:
		return upstream(c, payload, &wire.SnapshotPart{}, func(c *connection, f *wire.SnapshotPart) error {
			return c.to(f.Subscription, func(b *backing) error { return b.reflector.SnapshotPart(f, wire.Size(len(payload))) })
		})
	case wire.TypeSnapshotEnd:
		return upstream(c, payload, &wire.SnapshotEnd{}, func(c *connection, f *wire.SnapshotEnd) error {
			return c.to(f.Subscription, func(b *backing) error { return b.reflector.SnapshotEnd(f) })
		})
	case wire.TypeEvents:
		return upstream(c, payload, &wire.Events{}, func(c *connection, f *wire.Events) error {
			return c.to(f.Subscription, func(b *backing) error { return b.reflector.Changes(f, wire.Size(len(payload))) })
		})
	case wire.TypeProgress:
		return upstream(c, payload, &wire.Progress{}, func(c *connection, f *wire.Progress) error {
			return c.to(f.Subscription, func(b *backing) error { return b.reflector.Progress(f) })
		})
	case wire.TypeSubscriptionStatus:
		return upstream(c, payload, &wire.SubscriptionStatus{}, (*connection).ended)
	case wire.TypeObjectError:
		return upstream(c, payload, &wire.ObjectError{}, func(c *connection, f *wire.ObjectError) error {
			return c.to(f.Subscription, func(b *backing) error { b.reflector.Fault(f); return nil })
		})
	case wire.TypeSourceError:
		return upstream(c, payload, &wire.SourceError{}, func(c *connection, f *wire.SourceError) error {
			return c.to(f.Subscription, func(b *backing) error { b.reflector.SourceError(f); return nil })
		})
	}
	if t >= wire.Optional {
		return nil
	}
	return wire.Unknown(t)
}

func upstream[F interface{ Parse([]byte) error }](c *connection, payload []byte, frame F, handle func(*connection, F) error) error {
	if err := frame.Parse(payload); err != nil || c == nil {
		return err
	}
	return handle(c, frame)
}

// to hands a frame to the collection it is meant for. Frames of a subscription
// that was given up may still arrive; they are nobody's.
func (c *connection) to(subscription uint32, handle func(*backing) error) error {
	for _, b := range c.engine.backings {
		if subscription != 0 && b.reflector.Subscription() == subscription {
			return handle(b)
		}
	}
	return nil
}

func (c *connection) schema(f *wire.Schema) error {
	return c.to(f.Subscription, func(b *backing) error {
		dictionary, err := c.findDictionary(f.Dictionary)
		if err == nil && !b.reflector.Schema(f, dictionary) {
			b.reflector.Close()
			c.send = append(c.send, b.reflector.Outgoing()...)
			b.renew(c.engine)
			b.reflector.Connected(c.period)
		}
		return err
	})
}

// ended takes the end of a subscription, or of the whole connection.
func (c *connection) ended(f *wire.SubscriptionStatus) error {
	status := f.Status
	if f.Subscription != 0 {
		return c.to(f.Subscription, func(b *backing) error { b.reflector.Ended(status); return nil })
	}
	if status == nil {
		status = api.Unavailable("the connector closed the connection and gave no reason")
	}
	c.refusals++
	c.retry(status)
	return nil
}
