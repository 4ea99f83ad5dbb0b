package socket

import "context"

// tryConn is a Conn as a connector.TryConn.
type tryConn struct {
	line line // first: what is looked at lies together
	*Conn
}

// Write implements connector.MessageConn.
func (c *tryConn) Write(ctx context.Context, message []byte) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	defer c.done()
	return c.line.send(message)
}

// Claim implements connector.TryConn.
func (c *tryConn) Claim() bool {
	if !c.line.mu.TryLock() {
		return false
	}
	if len(c.line.rest) > 0 || c.line.closing {
		c.line.mu.Unlock()
		return false
	}
	return true
}

// Offer implements connector.TryConn.
func (c *tryConn) Offer(message []byte) (sent bool) {
	defer c.line.mu.Unlock()
	return len(message) == 0 || c.line.try(message)
}

// Flush implements connector.TryConn.
func (c *tryConn) Flush(ctx context.Context) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	defer c.done()
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	return c.line.flush()
}
