package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A collection may have the rows of its objects before their bodies. The body of a
// version is then added in place, which is not a change of the object. Bodies are
// unreadable until all have arrived.

// SetBody sets the body of a version of the current state that has none. If the place is
// not zero, it is that of the body in the open block of the heap. SetBody fails, without
// any change, if the base of the body is missing.
func (c *Cacher) SetBody(ref store.Ref, body *wire.RowBody, place store.Place) *api.Status {
	heap := c.heap
	base, status := c.bodies.Stored(heap.Key(ref), heap.ResourceVersion(ref), &body.Base, 0, place)
	if status == nil {
		heap.SetBody(ref, body.Body, place, c.bodies.Number(), base)
	}
	return status
}

// DropBodies removes the bodies of all objects, and the history, whose events
// contain bodies.
func (c *Cacher) DropBodies() {
	c.ForgetHistory()
	c.state.Ascend("", func(ref store.Ref) bool {
		c.heap.SetBody(ref, api.Body{}, store.Place{}, 0, 0)
		return true
	})
}

// ForgetHistory removes all events. Some of them refer to objects without bodies,
// which later readers must not receive.
func (c *Cacher) ForgetHistory() {
	c.window.Relist(c.at.Version)
	c.watches.Skip()
}
