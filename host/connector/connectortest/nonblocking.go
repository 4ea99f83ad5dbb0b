package connectortest

import (
	"context"
	"slices"
)

// NonblockingEnd is an End that implements connector.NonblockingConn. It sends a message
// without blocking only while the other end waits for one.
type NonblockingEnd struct {
	*End
	rest []byte // a message that TryWrite could not send; nil once it is written
}

// TryLock reports whether TryWrite may be called, that is, whether no message is stored.
func (e *NonblockingEnd) TryLock() bool { return e.rest == nil }

// TryWrite passes a copy of a message to the other end if that end is waiting for one.
// Otherwise, it stores the copy and returns false.
func (e *NonblockingEnd) TryWrite(message []byte) (sent bool) {
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
func (e *NonblockingEnd) Flush(ctx context.Context) error {
	if e.rest == nil {
		return nil
	}
	err := e.End.Write(ctx, e.rest)
	e.rest = nil
	return err
}

// Write writes the stored message, if any, and then a copy of the given message.
func (e *NonblockingEnd) Write(ctx context.Context, message []byte) error {
	if err := e.Flush(ctx); err != nil {
		return err
	}
	return e.End.Write(ctx, message)
}
