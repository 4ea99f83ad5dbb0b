package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// encodedBlock is a cached block of a snapshot.
type encodedBlock struct {
	// frame is the frame for readers with bodies, without a subscription number. The
	// first envelopesEnd bytes of its deflate stream contain the envelopes.
	frame        wire.SnapshotBlock
	envelopesEnd int
	// bodies is the frame for readers that already have the rows, without a subscription
	// number. It stays empty until such a reader needs it.
	bodies   wire.SnapshotBodies
	versions []blockVersion
}

// blockVersion identifies a version until a list replaces the state. Until then, a Ref is
// reused only for newer resource versions.
type blockVersion struct {
	ref store.Ref
	rv  api.ResourceVersion
}

// encodedBlocks caches the blocks of the last snapshots, by their first key. The cache
// does not keep the versions in the blocks alive.
type encodedBlocks struct {
	generation int // window generation of the state that the blocks belong to
	byFirst    map[api.Key]*encodedBlock
	bytes      int
	// found contains the blocks for readers of all objects, by the key at which the
	// reader continues. The map is valid while position is the end of the window. A found
	// block is sent to further readers without searching for its objects again.
	found    map[api.Key]foundBlock
	position int
}

// foundBlock is an encoded block with the results that nextBlock returned for it.
type foundBlock struct {
	block *encodedBlock
	first store.Ref
	next  api.Key
	done  bool
}

// Blocks of former states stay cached until the cache exceeds cachedBytesPerObject for each
// object of the collection. The cache is then cleared. The blocks of one state usually take
// half of that limit.
const (
	cachedBytesPerObject = 512
	blockVersionBytes    = 16  // size of a blockVersion
	blockOverhead        = 256 // memory of an encodedBlock without data and versions
)

// relisted clears the cache if a list has replaced the state that its blocks belong to.
func (c *Collection) relisted() {
	if g := c.cacher.Window().Generation(); c.blocks.generation != g {
		c.blocks = encodedBlocks{generation: g}
	}
}

// encodedBlock returns the cached block of exactly these versions, or nil.
func (c *Collection) encodedBlock(refs []store.Ref) *encodedBlock {
	c.relisted()
	b := c.blocks.byFirst[c.cacher.Arena().Key(refs[0])]
	if b == nil || len(b.versions) != len(refs) {
		return nil
	}
	for i, ref := range refs {
		if b.versions[i] != (blockVersion{ref, c.cacher.Arena().ResourceVersion(ref)}) {
			return nil
		}
	}
	return b
}

// find returns the found blocks of the current state, by the key at which a reader
// continues. The caller may add blocks to the map.
func (c *Collection) find() map[api.Key]foundBlock {
	c.relisted()
	if end := c.cacher.Window().End(); c.blocks.found == nil || c.blocks.position != end {
		c.blocks.found, c.blocks.position = map[api.Key]foundBlock{}, end
	}
	return c.blocks.found
}

// cacheBlock caches the block of the given versions, which must be current.
func (c *Collection) cacheBlock(refs []store.Ref, b *encodedBlock) {
	cache := &c.blocks
	b.versions = make([]blockVersion, len(refs))
	for i, ref := range refs {
		b.versions[i] = blockVersion{ref, c.cacher.Arena().ResourceVersion(ref)}
	}
	first := c.cacher.Arena().Key(refs[0])
	if was := cache.byFirst[first]; was != nil {
		cache.bytes -= was.size()
	}
	if cache.bytes += b.size(); cache.byFirst == nil || cache.bytes > cachedBytesPerObject*c.cacher.State().Len()+b.size() {
		*cache = encodedBlocks{generation: cache.generation, byFirst: map[api.Key]*encodedBlock{}, bytes: b.size()}
	}
	cache.byFirst[api.Key(lite.Clone(string(first)))] = b
}

func (b *encodedBlock) size() int {
	return blockOverhead + len(b.frame.Data) + len(b.bodies.Data) + len(b.bodies.First) + blockVersionBytes*len(b.versions)
}
