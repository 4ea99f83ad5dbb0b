package connector

import "sync"

// HoldTurn makes lists and readers with long messages wait until release is called.
func (c *Connector) HoldTurn() (release func()) {
	c.turn.lock()
	return sync.OnceFunc(c.turn.unlock)
}
