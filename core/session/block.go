//go:build !wasip1

package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A snapshot is sent in blocks of neighboring objects that are compressed
// together, because siblings are similar.
//
// A block contains objects of one namespace, and readers with selectors receive
// none. The reader of a block may therefore read all of it, and the block is
// encoded once for all of these readers. It does not depend on the reader: label
// sets have numbers of the block.
//
// A key whose hash has a certain value starts a block. A new object thus changes
// one block and not all later ones of its namespace.
const (
	// blockStarts is the mean distance of keys that start a block.
	blockStarts = 128
	// maxBlockObjects and blockBytes limit the objects of a block, and their bytes
	// before compression. An object of more than maxBlockBytes is sent in a
	// SnapshotPart.
	maxBlockObjects = 192
	blockBytes      = 128 << 10
	maxBlockBytes   = 256 << 10
)

// tryBlock sends the next block of a snapshot, unless it is sent in parts.
func (s *subscription) tryBlock(message []byte) ([]byte, bool) {
	if s.session.cfg.Deflate == nil || s.filter.Selects() {
		return message, false
	}
	return s.appendBlock(message), true
}

// appendBlock sends the next block in key order.
func (s *subscription) appendBlock(message []byte) []byte {
	s.reset()
	refs, size := s.nextBlock()
	switch {
	case len(refs) == 0:
		return s.charge(message, (&wire.SnapshotPart{Subscription: s.id}).Append(message)) // as in appendPart
	case size > maxBlockBytes:
		message = s.addObject(message, api.Added, refs[0], 0, 0)
		return s.charge(message, (&wire.SnapshotPart{Subscription: s.id, Objects: s.frame.Changes}).Append(message))
	}
	if s.usesOtherDictionary(refs[0]) {
		message = s.appendSchema(message, s.cacher.Heap().Dictionary(refs[0]), s.cacher.Bodies().Dictionary(refs[0]))
	}
	block := s.collection.encodedBlock(refs)
	if block == nil {
		block = s.encodeBlock(refs)
		s.collection.cacheBlock(refs, block)
	}
	f := block.frame
	f.Subscription = s.id
	if s.metadataOnly {
		f.Bodies, f.Data = 0, f.Data[:block.envelopesEnd]
	}
	s.session.inflated += max(0, int(f.Envelopes+f.Bodies)-len(f.Data))
	return s.charge(message, f.Append(message))
}

// nextBlock returns the versions of the next block, and their estimated size, and
// moves behind them.
func (s *subscription) nextBlock() (refs []store.Ref, size int) {
	refs = s.frame.Refs[:0]
	last, done := api.Key(""), true
	s.cacher.State().Ascend(s.next, func(ref store.Ref) bool {
		key := s.cacher.Heap().Key(ref)
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
	if done {
		s.phase = replaying
	} else {
		s.next = api.Key(string(last) + "\x00")
	}
	return refs, size
}

// startsBlock reports whether a version starts a new block after refs.
func (s *subscription) startsBlock(refs []store.Ref, ref store.Ref, size int) bool {
	heap := s.cacher.Heap()
	key := heap.Key(ref)
	return len(refs) == maxBlockObjects || size >= blockBytes || size+s.blockSize(ref) > maxBlockBytes ||
		hash(key)%blockStarts == 0 || key.Namespace() != heap.Key(refs[0]).Namespace() ||
		heap.Dictionary(ref) != heap.Dictionary(refs[0])
}

// blockSize estimates the size of an object in a block before compression.
func (s *subscription) blockSize(ref store.Ref) int {
	heap := s.cacher.Heap()
	size := len(heap.Envelope(ref)) + len(s.cacher.Bodies().Base(ref).Data) + 16
	for _, l := range heap.LabelsOf(ref) {
		size += len(l.Key) + len(l.Value) + 4
	}
	return size
}

// hash is FNV-1a.
func hash(key api.Key) uint32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return h
}

// encodeBlock encodes versions of the current state.
func (s *subscription) encodeBlock(refs []store.Ref) *encodedBlock {
	heap := s.cacher.Heap()
	block := wire.Block{Objects: s.frame.Changes[:0]}
	var sets []uint32 // IDs of block.LabelSets
	for _, ref := range refs {
		number, set := 0, heap.LabelSet(ref)
		for number < len(sets) && sets[number] != set {
			number++
		}
		if number == len(sets) {
			sets, block.LabelSets = append(sets, set), append(block.LabelSets, heap.Labels.Labels(set))
		}
		block.Objects = append(block.Objects, wire.Change{
			ResourceVersion: heap.ResourceVersion(ref), Flags: heap.Flags(ref), LabelSet: uint32(number),
			Envelope: heap.Envelope(ref), Base: s.base(ref, 0),
		})
	}
	f := s.frame
	f.Changes = block.Objects
	f.Envelopes, f.Bodies = block.AppendSections(f.Envelopes[:0], f.Bodies[:0])
	data, end := s.session.cfg.Deflate(f.Bytes[:0], f.Envelopes, f.Bodies)
	f.Bytes = data
	return &encodedBlock{
		frame: wire.SnapshotBlock{
			Objects: uint32(len(refs)), Envelopes: uint32(len(f.Envelopes)), Bodies: uint32(len(f.Bodies)),
			Data: append([]byte(nil), data...),
		},
		envelopesEnd: end,
	}
}
