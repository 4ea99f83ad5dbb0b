package connectortest

import (
	"context"
	"slices"
)

// TryEnd is an End as a connector.TryConn: there is room for a message while the
// other end is waiting for one.
type TryEnd struct {
	*End
	rest []byte // offered, and not yet taken
}

// Claim reports whether nothing is left to be written.
func (e *TryEnd) Claim() bool { return e.rest == nil }

// Offer hands a copy of a message over if the other end is waiting for it, and keeps
// one if not.
func (e *TryEnd) Offer(message []byte) (sent bool) {
	if len(message) == 0 {
		return true
	}
	message = slices.Clone(message)
	select {
	case e.out <- message:
		return true
	default:
		e.rest = message
		return false
	}
}

// Flush hands over what was kept.
func (e *TryEnd) Flush(ctx context.Context) error {
	if e.rest == nil {
		return nil
	}
	err := e.End.Write(ctx, e.rest)
	e.rest = nil
	return err
}

// Write hands over what was kept, and then a copy of the message.
func (e *TryEnd) Write(ctx context.Context, message []byte) error {
	if err := e.Flush(ctx); err != nil {
		return err
	}
	return e.End.Write(ctx, message)
}
