//go:build !wasip1

package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A snapshot is sent in blocks. The neighboring objects of a block are compressed
// together, because they are usually similar.
//
// A block contains objects of one namespace. Readers with selectors or with chosen
// columns receive no blocks. Every reader of a block is therefore authorized to read the
// whole block, so all readers share one encoding. Label sets are numbered within the
// block.
//
// A key whose hash is a multiple of blockStarts starts a block. A new object therefore
// changes one block, not all later blocks of its namespace.
const (
	// blockStarts is the mean distance, in keys, between two keys that start a block.
	blockStarts = 128
	// maxBlockObjects limits the objects of a block, and blockBytes limits their total
	// size before compression. An object of more than maxBlockBytes is sent in a
	// SnapshotPart.
	maxBlockObjects = 192
	blockBytes      = 128 << 10
	maxBlockBytes   = 256 << 10
)

// tryBlock appends the next block of a snapshot to the message. It returns false if the
// next objects must be sent in a part.
func (s *subscription) tryBlock(message []byte) ([]byte, bool) {
	if s.session.cfg.Deflate == nil {
		return s.forwardBlock(message)
	}
	if s.filter.Selects() || s.computed != nil {
		return message, false
	}
	return s.appendBlock(message), true
}

// appendBlock appends the next block in key order, and encodes it if it is not cached.
func (s *subscription) appendBlock(message []byte) []byte {
	s.reset()
	from, all := s.next, s.namespace == "" && s.session.cfg.Shard.Whole()
	if all {
		if b, ok := s.collection.find()[from]; ok {
			s.advanceTo(b.next, b.done)
			return s.sendEncoded(message, b.first, b.block)
		}
	}
	refs, size, next, done := s.nextBlock(from)
	s.advanceTo(next, done)
	switch {
	case len(refs) == 0:
		return s.charge(message, (&wire.SnapshotPart{Subscription: s.id}).Append(message)) // an empty part reports progress, as in appendPart
	case size > maxBlockBytes:
		message = s.addObject(message, api.Added, refs[0], 0, 0)
		return s.charge(message, (&wire.SnapshotPart{Subscription: s.id, Objects: s.frame.Changes}).Append(message))
	}
	block := s.collection.encodedBlock(refs)
	if block == nil {
		block = s.encodeBlock(refs)
		s.collection.cacheBlock(refs, block)
	}
	if found := s.collection.find(); all && len(found) < s.cacher.State().Len() { // bounded, because readers can choose any key to start from
		found[from] = foundBlock{block, refs[0], next, done}
	}
	return s.sendEncoded(message, refs[0], block)
}

// sendEncoded appends an encoded block to the message, without bodies if the subscription
// omits them. The argument first is the version of the first object in the block.
func (s *subscription) sendEncoded(message []byte, first store.Ref, block *encodedBlock) []byte {
	f := block.frame
	if s.omitsBodies() {
		f.Members, f.Bodies, f.Data = 0, 0, f.Data[f.Members:][:block.envelopesEnd]
	}
	return s.sendBlock(message, first, &f)
}

// nextBlock returns the versions of the block that starts at a key, and their estimated
// size in bytes. It also returns the key at which the next block starts. If no objects
// remain, done is true.
func (s *subscription) nextBlock(from api.Key) (refs []store.Ref, size int, next api.Key, done bool) {
	refs, next, done = s.frame.Refs[:0], from, true
	last := api.Key("")
	s.cacher.State().Ascend(from, func(ref store.Ref) bool {
		key := s.cacher.Arena().Key(ref)
		if !key.InNamespace(s.namespace) {
			return false
		}
		if s.filter.Exhausted() || len(refs) > 0 && s.startsBlock(refs, ref, size) {
			done = false
			return false
		}
		last = key
		if s.filter.Matches(ref) {
			refs = append(refs, ref)
			size += s.blockSize(ref)
		}
		return true
	})
	s.frame.Refs = refs
	if last != "" {
		next = api.Key(string(last) + "\x00")
	}
	return refs, size, next, done
}

// startsBlock reports whether a version starts a new block, because it must not be in the
// same block as refs. size is the estimated size of refs in bytes.
func (s *subscription) startsBlock(refs []store.Ref, ref store.Ref, size int) bool {
	arena := s.cacher.Arena()
	key := arena.Key(ref)
	return len(refs) == maxBlockObjects || size >= blockBytes || size+s.blockSize(ref) > maxBlockBytes ||
		hash(key)%blockStarts == 0 || key.Namespace() != arena.Key(refs[0]).Namespace() ||
		arena.Dictionary(ref) != arena.Dictionary(refs[0])
}

// hash returns the FNV-1a hash of a key.
func hash(key api.Key) uint32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return h
}

// encodeBlock encodes versions of the current state as a block, and offers the block to the
// arena with storeBlock.
func (s *subscription) encodeBlock(refs []store.Ref) *encodedBlock {
	arena, f := s.cacher.Arena(), s.frame
	f.Bytes = f.Bytes[:0]
	block := s.blockOf(refs, func(ref store.Ref) wire.Envelope { return arena.Complete(ref, &f.Bytes) })
	for i, ref := range refs {
		block.Objects[i].Base = s.base(ref, 0)
	}
	encoded := &encodedBlock{}
	f.Envelopes, f.Bodies = block.Encode(&encoded.frame, f.Envelopes[:0], f.Bodies[:0])
	f.Bytes, encoded.envelopesEnd = s.session.cfg.Deflate(append(f.Bytes[:0], encoded.frame.Data...), f.Envelopes, f.Bodies)
	encoded.frame.Data = append([]byte(nil), f.Bytes...)
	s.storeBlock(refs, encoded)
	return encoded
}

// storeBlock makes the arena read the complete bodies of versions from their block, if
// that saves memory. The arena and the cache of blocks share the bytes of the block.
// Deltas and their bases remain outside the block, because such objects change often and
// the next delta needs the base.
func (s *subscription) storeBlock(refs []store.Ref, b *encodedBlock) {
	arena, f, bytes := s.cacher.Arena(), s.frame, 0
	for _, ref := range refs {
		if arena.Base(ref) == 0 {
			bytes += arena.BodySize(ref)
		}
	}
	if bytes <= len(b.frame.Data) {
		return
	}
	number := arena.OpenBlock(b.frame.BlockBodies(), true)
	for i, ref := range refs {
		if arena.Base(ref) == 0 {
			f.Bytes = f.Bytes[:0]
			body := arena.Complete(ref, &f.Bytes).Body()
			arena.SetBody(ref, body, store.MemberRef{Block: number, Index: uint32(2 * i)}, arena.Dictionary(ref), 0)
		}
	}
	arena.CloseBlock()
}

// appendBodies appends the body of a requested object. If there is no request, it appends
// the bodies of the next block in key order.
func (s *subscription) appendBodies(message []byte) []byte {
	b := s.bodies
	for len(b.requested) > 0 {
		ref := s.cacher.State().Get(b.requested[0])
		if s.filter.Exhausted() {
			return message
		}
		b.requested = b.requested[1:]
		if s.filter.Matches(ref) {
			s.frame.Refs = append(s.frame.Refs[:0], ref)
			return s.appendBodyBlock(message, s.frame.Refs, s.blockSize(ref), false)
		}
	}
	if b.done {
		return message
	}
	refs, size, next, done := s.nextBlock(b.next)
	if b.next, b.done = next, done; len(refs) == 0 && !done {
		return message
	}
	return s.appendBodyBlock(message, refs, size, done)
}

// appendBodyBlock appends a SnapshotBodies frame with the bodies of refs, which must be
// in one namespace. The flag last tells the reader that no other bodies follow.
func (s *subscription) appendBodyBlock(message []byte, refs []store.Ref, size int, last bool) []byte {
	f := wire.SnapshotBodies{}
	if len(refs) > 0 {
		if s.usesOtherDictionary(refs[0]) {
			message = s.appendSchema(message, s.cacher.Arena().Dictionary(refs[0]), s.cacher.Bodies().Dictionary(refs[0]))
		}
		f = s.bodyBlock(refs, size)
	}
	f.Subscription, f.Last = s.id, last
	s.session.inflated += max(0, int(f.Members+f.Bodies)-len(f.Data))
	return s.charge(message, f.Append(message))
}

// bodyBlock returns a frame with the bodies of refs. All readers without selectors share
// one encoding of a block.
func (s *subscription) bodyBlock(refs []store.Ref, size int) wire.SnapshotBodies {
	if len(refs) == 1 || size > maxBlockBytes || s.filter.Selects() {
		return s.encodeBodies(refs, size <= maxBlockBytes)
	}
	block := s.collection.encodedBlock(refs)
	if block == nil {
		block = s.encodeBlock(refs)
	}
	if block.bodies.Objects == 0 {
		with := *block
		with.bodies = s.encodeBodies(refs, true)
		with.bodies.Data = append([]byte(nil), with.bodies.Data...)
		with.bodies.First = api.Key(lite.Clone(string(with.bodies.First)))
		block = &with
		s.collection.cacheBlock(refs, block)
	}
	return block.bodies
}

// encodeBodies encodes the bodies of versions. The result aliases the scratch space of
// the collection.
func (s *subscription) encodeBodies(refs []store.Ref, compress bool) wire.SnapshotBodies {
	arena, f := s.cacher.Arena(), s.frame
	f.Bytes = f.Bytes[:0]
	block := wire.Block{Objects: f.Changes[:0]}
	out := wire.SnapshotBodies{First: arena.Key(refs[0]), Objects: uint32(len(refs))}
	for _, ref := range refs {
		out.Digest = wire.RowDigest(out.Digest, arena.Key(ref), arena.ResourceVersion(ref))
		block.Objects = append(block.Objects, wire.Change{
			ResourceVersion: arena.ResourceVersion(ref), Envelope: arena.Complete(ref, &f.Bytes), Base: s.base(ref, 0),
		})
	}
	f.Changes = block.Objects
	members := block.AppendMembers(nil)
	f.Bodies = block.AppendBodies(f.Bodies[:0])
	f.Bytes = append(f.Bytes[:0], members...)
	if out.Members = uint32(len(members)); compress {
		out.Bodies = uint32(len(f.Bodies))
		f.Bytes, _ = s.session.cfg.Deflate(f.Bytes, nil, f.Bodies)
	} else {
		f.Bytes = append(f.Bytes, f.Bodies...)
	}
	out.Data = f.Bytes
	return out
}
