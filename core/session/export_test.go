package session

import (
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/wire"
)

// Served is a collection with access to its cacher.
type Served struct {
	*cacher.Cacher
	*Collection
}

// Serve returns a new collection that serves c, together with c.
func Serve(c *cacher.Cacher) *Served { return &Served{c, NewCollection(c)} }

// ControlBytes returns the size of the pending responses.
func (s *Session) ControlBytes() int { return len(s.control) }

// MaxPatches is the number of cached patches.
const MaxPatches = maxPatches

// Patch returns the change at a position of the window as a patch, or nil.
func (c *Collection) Patch(position int, bodies bool) wire.Patch { return c.patch(position, bodies) }

// PatchBytes returns the memory of the cached patches.
func (c *Collection) PatchBytes() (bytes int) {
	for i := range c.patches {
		bytes += cap(c.patches[i].of)
	}
	return bytes
}

// BlockBytes returns the memory of the cached blocks.
func (c *Collection) BlockBytes() int { return c.blocks.bytes }

// FoundBlocks returns the number of blocks that are cached by the key at which a reader
// continues.
func (c *Collection) FoundBlocks() int { return len(c.find()) }

// EncodedEvents returns the cached encoding of the events at the end of the window.
func (c *Collection) EncodedEvents() *EncodedEvents { return &c.events }

// EncodedEvents is the type of a cached encoding.
type EncodedEvents = encodedEvents
