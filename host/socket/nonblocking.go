package socket

import "context"

// nonblockingConn is a Conn over TCP that implements connector.NonblockingConn.
type nonblockingConn Conn

// Read implements connector.MessageConn.
func (c *nonblockingConn) Read(ctx context.Context) ([]byte, error) { return (*Conn)(c).Read(ctx) }

// Write implements connector.MessageConn.
func (c *nonblockingConn) Write(ctx context.Context, message []byte) error {
	return (*Conn)(c).Write(ctx, message)
}

// Close implements connector.MessageConn.
func (c *nonblockingConn) Close(reason error) error { return (*Conn)(c).Close(reason) }

// TryLock implements connector.NonblockingConn.
func (c *nonblockingConn) TryLock() bool { return c.frames.tryLock() }

// TryWrite implements connector.NonblockingConn.
func (c *nonblockingConn) TryWrite(message []byte) (sent bool) {
	defer c.frames.unlock()
	return len(message) == 0 || c.frames.try(opBinary, message)
}

// Flush implements connector.NonblockingConn.
func (c *nonblockingConn) Flush(ctx context.Context) error {
	conn := (*Conn)(c)
	if err := conn.begin(ctx); err != nil {
		return err
	}
	defer conn.done()
	c.frames.mu.Lock()
	defer c.frames.unlock()
	return c.frames.flush()
}
