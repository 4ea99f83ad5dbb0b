package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// What one reader is told, many are told, most of them one right after the other.
// So what was encoded last is remembered for them, at two grains: each change by
// itself, for every reader that holds the version before, whatever else it is
// told; and all that the window ends with, for readers of everything that are at
// the same place.
type encoded struct {
	patches []patch // by position, as far as there is room; nil until the first
	events  EncodedEvents
	frame   Frame
}

const (
	// maxPatches is how many changes are remembered. Of a burst each reader is told
	// as a whole before the next one is.
	maxPatches = 256
	// maxPatch is how long a patch may be to be remembered: patches are differences,
	// and those that are not would take as much memory as the objects.
	maxPatch = 4 << 10
)

type patch struct {
	position int
	bodies   bool
	of       wire.Patch // empty when there is none, nil when nothing is remembered
}

// EncodedEvents is a stretch of the window, up to its end, as a reader of
// everything was told of it.
type EncodedEvents struct {
	From, To        int
	ResourceVersion api.ResourceVersion // of the last revision
	// Held is the oldest version that whoever is told must hold with its base;
	// the largest there is when there is none.
	Held       api.ResourceVersion
	Dictionary uint32
	LabelSets  []uint32 // of the changes, which the events of the window hold
	Count      int
	Changes    []byte // as wire.Events has them
}

// Frame is where the frame of one reader is put together, and then that of the
// next: what it takes lies in the processor's cache, and is there once.
type Frame struct {
	Changes []wire.Change
	Bytes   []byte // what changes refer to that lies nowhere else
}

// Frame is that of this collection, to be written anew.
func (c *Cacher) Frame() *Frame { return &c.encoded.frame }

// EncodedEvents are the last ones, for the readers of this collection to use and to
// write anew.
func (c *Cacher) EncodedEvents() *EncodedEvents { return &c.encoded.events }

// Shared reports whether more than one reader follows.
func (c *Cacher) Shared() bool { return len(c.followers) > 1 }

// Patch is the change at a position of the window as the difference between its
// versions, with the body if bodies. It is nil where there is none. The bytes are
// read only, and good until the next call.
func (c *Cacher) Patch(position int, bodies bool) wire.Patch {
	if c.encoded.patches == nil {
		c.encoded.patches = make([]patch, maxPatches)
	}
	p := &c.encoded.patches[position%maxPatches]
	if p.position != position || p.bodies != bodies || p.of == nil {
		*p = patch{position, bodies, c.appendPatch(p.of[:0], position, bodies)}
	}
	of := p.of
	if len(of) > maxPatch {
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
