package socket

import "context"

// tryConn is a Conn over TCP that implements connector.TryConn.
type tryConn Conn

// Read implements connector.MessageConn.
func (c *tryConn) Read(ctx context.Context) ([]byte, error) { return (*Conn)(c).Read(ctx) }

// Write implements connector.MessageConn.
func (c *tryConn) Write(ctx context.Context, message []byte) error {
	return (*Conn)(c).Write(ctx, message)
}

// Close implements connector.MessageConn.
func (c *tryConn) Close(reason error) error { return (*Conn)(c).Close(reason) }

// Claim implements connector.TryConn.
func (c *tryConn) Claim() bool { return c.line.claim() }

// Offer implements connector.TryConn.
func (c *tryConn) Offer(message []byte) (sent bool) {
	defer c.line.unlock()
	return len(message) == 0 || c.line.try(opBinary, message)
}

// Flush implements connector.TryConn.
func (c *tryConn) Flush(ctx context.Context) error {
	conn := (*Conn)(c)
	if err := conn.begin(ctx); err != nil {
		return err
	}
	defer conn.done()
	c.line.mu.Lock()
	defer c.line.unlock()
	return c.line.flush()
}
