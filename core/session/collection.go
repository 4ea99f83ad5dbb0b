package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Collection is a cacher, together with the encodings that its sessions share. All backends
// that serve a cacher must return the same Collection for it.
//
// Most readers are sent the same events back to back, so the last encodings are cached.
// One cache contains a patch per change, for readers that have the previous version. A
// second cache contains the encoded events at the end of the window, for readers without
// selectors at the same position. A third cache contains the blocks of snapshots.
type Collection struct {
	cacher        *cacher.Cacher
	subscriptions int
	patches       []cachedPatch // ring by position; nil until first use
	events        encodedEvents
	blocks        encodedBlocks
	frame         frameBuffer
}

// NewCollection returns a collection that serves a cacher and has no subscriptions yet.
func NewCollection(c *cacher.Cacher) *Collection { return &Collection{cacher: c} }

// frameBuffer is scratch space for building frames. All readers of a collection share one
// buffer, so that it stays in the processor cache.
type frameBuffer struct {
	Changes []wire.Change
	Bytes   []byte // data that changes refer to and that is stored nowhere else
	Refs    []store.Ref
	// Envelopes and Bodies are the sections of a block before compression.
	Envelopes, Bodies []byte
	// Base is the base of the body that is being decoded.
	Base []byte
}

const (
	// maxPatches is the number of cached patches. It must cover a burst of changes,
	// because one reader receives the whole burst before the next reader does.
	maxPatches = 256
	// maxPatch is the size limit of a cached patch. A larger patch usually contains most
	// of the object, and caching it would take about as much memory as the object.
	maxPatch = 4 << 10
)

type cachedPatch struct {
	position int
	bodies   bool
	of       wire.Patch // empty if the change has no patch, nil if not cached
}

// patch returns the change at a position of the window as a difference between
// its versions, including the body if bodies is set. It returns nil if there is
// no such difference. The bytes are read-only and valid until the next call.
func (c *Collection) patch(position int, bodies bool) wire.Patch {
	if c.patches == nil {
		c.patches = make([]cachedPatch, maxPatches)
	}
	p := &c.patches[position%maxPatches]
	if p.position != position || p.bodies != bodies || p.of == nil {
		*p = cachedPatch{position, bodies, c.appendPatch(p.of[:0], position, bodies)}
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

// appendPatch appends the patch for a change, if there is one. It never returns nil,
// because nil means not cached.
func (c *Collection) appendPatch(dst wire.Patch, position int, bodies bool) wire.Patch {
	if dst == nil {
		dst = wire.Patch{}
	}
	e, arena := c.cacher.Window().At(position), c.cacher.Arena()
	if e.Current == 0 || e.Previous == 0 {
		return dst
	}
	current, body := arena.Envelope(e.Current), api.Body{}
	if bodies {
		body = arena.Body(e.Current)
	}
	dst, _ = wire.AppendPatch(dst, arena.Envelope(e.Previous), current, body)
	return dst
}
