package connectortest

import (
	"context"
	"slices"
)

// TryEnd is an End that implements connector.TryConn. It has room for a message
// while the other end is waiting for one.
type TryEnd struct {
	*End
	rest []byte // the offered message, until it is written
}

// Claim reports whether no message is waiting to be written.
func (e *TryEnd) Claim() bool { return e.rest == nil }

// Offer passes a copy of a message to the other end if it is waiting. Otherwise Offer
// stores the copy.
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

// Flush writes the stored message.
func (e *TryEnd) Flush(ctx context.Context) error {
	if e.rest == nil {
		return nil
	}
	err := e.End.Write(ctx, e.rest)
	e.rest = nil
	return err
}

// Write writes the stored message, and then a copy of the given one.
func (e *TryEnd) Write(ctx context.Context, message []byte) error {
	if err := e.Flush(ctx); err != nil {
		return err
	}
	return e.End.Write(ctx, message)
}
