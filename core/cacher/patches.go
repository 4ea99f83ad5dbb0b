package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// patches are the newest changes as readers are told of them that hold the
// version before. A change is encoded once and not for each reader, of which
// there are many and most are told of it one after the other; of a burst each is
// told as a whole before the next one is.
type patches [256]patch

// maxKept is how long a patch may be to be kept: patches are differences, and
// those that are not would take as much memory as the objects.
const maxKept = 4 << 10

type patch struct {
	position int
	bodies   bool
	of       wire.Patch // empty when there is none, nil when nothing is remembered
}

// Patch is the change at a position of the window as the difference between its
// versions, with the body if bodies. It is nil where there is none. The bytes are
// read only, and good until the next call.
func (c *Cacher) Patch(position int, bodies bool) wire.Patch {
	p := &c.patches[position%len(c.patches)]
	if p.position != position || p.bodies != bodies || p.of == nil {
		*p = patch{position, bodies, c.appendPatch(p.of[:0], position, bodies)}
	}
	of := p.of
	if len(of) > maxKept {
		p.of = nil
	}
	if len(of) == 0 {
		return nil
	}
	return of
}

// appendPatch never returns nil: nil stands for what was not tried.
func (c *Cacher) appendPatch(dst wire.Patch, position int, bodies bool) wire.Patch {
	if dst == nil {
		dst = wire.Patch{}
	}
	e := c.window.At(position)
	if e.Current == 0 || e.Previous == 0 {
		return dst
	}
	current, body := c.heap.Envelope(e.Current), api.Body{}
	if bodies {
		body = current.Body()
	}
	dst, _ = wire.AppendPatch(dst, c.heap.Envelope(e.Previous), current, body)
	return dst
}
