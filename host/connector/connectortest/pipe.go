package connectortest

import (
	"context"
	"io"
	"slices"
	"sync"
)

// End is one end of a pipe. It implements connector.MessageConn and [Conn].
type End struct {
	in, out chan []byte
	closed  chan struct{} // shared by both ends
	once    *sync.Once
	mu      *sync.Mutex
	reason  *error
}

// Pipe returns the two ends of a connection in memory. The connection has no buffer:
// Write returns when the other end has read the message.
func Pipe() (connector, reader *End) {
	up, down := make(chan []byte), make(chan []byte)
	connector = &End{in: up, out: down, closed: make(chan struct{}), once: new(sync.Once), mu: new(sync.Mutex), reason: new(error)}
	other := *connector
	other.in, other.out = down, up
	return connector, &other
}

// Read returns the next message, or io.EOF once either end is closed.
func (e *End) Read(ctx context.Context) ([]byte, error) {
	select {
	case message := <-e.in:
		return message, nil
	case <-e.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write passes a copy of the message to the other end.
func (e *End) Write(ctx context.Context, message []byte) error {
	select {
	case <-e.closed:
		return io.ErrClosedPipe
	default:
	}
	select {
	case e.out <- slices.Clone(message):
		return nil
	case <-e.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes both ends.
func (e *End) Close(reason error) error {
	e.once.Do(func() {
		e.mu.Lock()
		*e.reason = reason
		e.mu.Unlock()
		close(e.closed)
	})
	return nil
}

// Reason returns the argument of the first Close.
func (e *End) Reason() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return *e.reason
}
