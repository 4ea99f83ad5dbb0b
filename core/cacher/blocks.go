package cacher

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// EncodedBlock is a cached block of a snapshot.
type EncodedBlock struct {
	// Frame is the frame for readers with bodies, without the subscription. The
	// first EnvelopesEnd bytes of its data contain the envelopes.
	Frame        wire.SnapshotBlock
	EnvelopesEnd int
	versions     []blockVersion
}

// blockVersion identifies a version while the state is not replaced. A Ref is
// reused only for newer resource versions meanwhile.
type blockVersion struct {
	ref store.Ref
	rv  api.ResourceVersion
}

// encodedBlocks are the blocks of the last snapshots, by their first key. They
// hold no references to versions.
type encodedBlocks struct {
	byFirst map[api.Key]*EncodedBlock
	bytes   int
}

// Blocks of former states stay until the cache exceeds cachedBytesPerObject for each
// object of the collection, and is cleared. An object usually takes half of that.
const (
	cachedBytesPerObject = 512
	blockVersionBytes    = 16  // size of a blockVersion
	blockOverhead        = 256 // memory of an EncodedBlock without data and versions
)

// EncodedBlock returns the cached block of exactly these versions, or nil.
func (c *Cacher) EncodedBlock(refs []store.Ref) *EncodedBlock {
	b := c.encoded.blocks.byFirst[c.heap.Key(refs[0])]
	if b == nil || len(b.versions) != len(refs) {
		return nil
	}
	for i, ref := range refs {
		if b.versions[i] != (blockVersion{ref, c.heap.ResourceVersion(ref)}) {
			return nil
		}
	}
	return b
}

// CacheBlock caches the block of some versions of the current state.
func (c *Cacher) CacheBlock(refs []store.Ref, b *EncodedBlock) {
	cache := &c.encoded.blocks
	b.versions = make([]blockVersion, len(refs))
	for i, ref := range refs {
		b.versions[i] = blockVersion{ref, c.heap.ResourceVersion(ref)}
	}
	first := c.heap.Key(refs[0])
	if was := cache.byFirst[first]; was != nil {
		cache.bytes -= was.size()
	}
	if cache.bytes += b.size(); cache.byFirst == nil || cache.bytes > cachedBytesPerObject*c.Len()+b.size() {
		*cache = encodedBlocks{byFirst: map[api.Key]*EncodedBlock{}, bytes: b.size()}
	}
	cache.byFirst[api.Key(strings.Clone(string(first)))] = b
}

// BlockBytes returns the memory of the cached blocks.
func (c *Cacher) BlockBytes() int { return c.encoded.blocks.bytes }

func (b *EncodedBlock) size() int {
	return blockOverhead + len(b.Frame.Data) + blockVersionBytes*len(b.versions)
}
