package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Most readers are sent the same events back to back, so the last encodings are
// cached. One cache has an entry per change, for readers that have the previous
// version. The other has the end of the window, for readers without a selector
// at the same position.
type encoded struct {
	patches []patch // ring by position; nil until first use
	events  EncodedEvents
	blocks  encodedBlocks
	frame   Frame
}

const (
	// maxPatches is the number of cached changes. It covers a burst, which one
	// reader is sent completely before the next.
	maxPatches = 256
	// maxPatch is the size limit of a cached patch. A larger patch is hardly a
	// difference and would take as much memory as the object.
	maxPatch = 4 << 10
)

type patch struct {
	position int
	bodies   bool
	of       wire.Patch // empty if there is none, nil if not cached
}

// EncodedEvents is the cached encoding of the end of the window, for readers
// without a selector.
type EncodedEvents struct {
	From, To        int
	ResourceVersion api.ResourceVersion // of the last revision
	// Held is the oldest version that a reader must have, with its base, to use
	// the encoding. It is the maximum if there is no such version.
	Held       api.ResourceVersion
	Dictionary uint32
	LabelSets  []uint32 // of the changes; the events of the window reference them
	Count      int
	Changes    []byte // in the format of wire.Events
}

// Frame is the scratch space for building one reader's frame after the other.
// Sharing it keeps it in the processor cache.
type Frame struct {
	Changes []wire.Change
	Bytes   []byte // data that changes refer to and that is stored nowhere else
	Refs    []store.Ref
	// Envelopes and Bodies are the sections of a block before compression.
	Envelopes, Bodies []byte
}

// Frame returns the collection's scratch space for frames.
func (c *Cacher) Frame() *Frame { return &c.encoded.frame }

// EncodedEvents returns the cached encoding, for the collection's readers to use
// and overwrite.
func (c *Cacher) EncodedEvents() *EncodedEvents { return &c.encoded.events }

// Shared reports whether the collection has more than one follower.
func (c *Cacher) Shared() bool { return len(c.followers) > 1 }

// Patch returns the change at a position of the window as a difference between
// its versions, including the body if bodies is set. It returns nil if there is
// no such difference. The bytes are read-only and valid until the next call.
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

// appendPatch never returns nil, because nil means not cached.
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
