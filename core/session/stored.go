package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A collection stores received blocks of bodies in compressed form. A session that cannot
// encode blocks, such as one in the WebAssembly module, forwards the blocks whose objects are
// all unchanged. A persisted snapshot contains the unchanged objects of each block. All other
// objects are sent in parts.

// forwardBlock appends the block that begins with the next object, if the collection
// still stores all of it, and reports whether it did. As with encoded blocks, all objects
// are in one namespace, and readers with selectors receive no blocks. Metadata-only
// subscriptions receive no stored blocks either.
func (s *subscription) forwardBlock(message []byte) ([]byte, bool) {
	if s.stores || s.metadataOnly || s.filter.Selects() || s.computed != nil {
		return message, false
	}
	run := s.nextStored(0)
	arena := s.cacher.Arena()
	if run.block == 0 || s.filter.Exhausted() {
		return message, false
	}
	block := arena.BlockBodies(run.block)
	if block.Before == 0 || len(run.members) != int(block.Objects) || len(run.others) > 0 {
		return message, false
	}
	first := run.refs[0]
	s.advanceTo(run.next, run.done)
	return s.sendBlock(message, first, &wire.SnapshotBlock{
		Objects: block.Objects, Envelopes: block.Before, Members: block.Members, Bodies: block.Bodies, Data: block.Data,
	}), true
}

// startsStored reports whether a part of a snapshot must end before a version, because the
// version may begin a block that is sent as stored.
func (s *subscription) startsStored(ref store.Ref) bool {
	if s.session.cfg.Deflate != nil || s.filter.Selects() || s.metadataOnly || s.computed != nil {
		return false
	}
	number, index := s.cacher.Arena().Member(ref)
	return number != 0 && (s.stores || index == 0 && s.cacher.Arena().BlockBodies(number).Before > 0)
}

// storedRun is a sequence of objects in key order that begins with a member of a block.
type storedRun struct {
	block   uint32 // zero if the first object is not in a block
	refs    []store.Ref
	members []uint32    // the indices of refs in the block
	others  []store.Ref // objects between the members that are not in a block
	next    api.Key
	done    bool
}

// nextStored returns the next objects of the snapshot that are members of one block. It
// stops at a member of another block or at an object of another namespace. The result
// includes objects between the members that are in no block, up to about room bytes.
func (s *subscription) nextStored(room int) storedRun {
	arena := s.cacher.Arena()
	run := storedRun{refs: s.frame.Refs[:0], next: s.next, done: true}
	last := api.Key("")
	s.cacher.State().Ascend(s.next, func(ref store.Ref) bool {
		key := arena.Key(ref)
		if !key.InNamespace(s.namespace) {
			return false
		}
		number, index := arena.Member(ref)
		if len(run.refs) == 0 {
			run.block = number
		}
		if run.block == 0 || len(run.refs) > 0 && !s.continues(&run, ref, number, index) || number == 0 && room <= 0 || !s.filter.Matches(ref) {
			run.done = false
			return false
		}
		last = key
		if number == 0 {
			run.others = append(run.others, ref)
			room -= s.blockSize(ref)
		} else {
			run.refs, run.members = append(run.refs, ref), append(run.members, index)
		}
		return true
	})
	s.frame.Refs = run.refs
	if last != "" {
		run.next = api.Key(string(last) + "\x00")
	}
	return run
}

// continues reports whether a version belongs to the run. number and index locate the
// body of the version; number is zero if that body is not in a block.
func (s *subscription) continues(run *storedRun, ref store.Ref, number, index uint32) bool {
	arena := s.cacher.Arena()
	first := run.refs[0]
	return (number == 0 || number == run.block && index > run.members[len(run.members)-1]) &&
		arena.Dictionary(ref) == arena.Dictionary(first) && arena.Key(ref).Namespace() == arena.Key(first).Namespace()
}

// stored describes the objects that appendStored has appended.
type stored struct {
	first   api.Key // valid until the next change
	objects int
	memory  int // estimated bytes when loaded
}

// appendStored appends the next objects of a snapshot in their persisted form.
func (s *subscription) appendStored(message []byte, room int) ([]byte, stored) {
	run := s.nextStored(room)
	arena := s.cacher.Arena()
	if run.block == 0 {
		before := len(message)
		message = s.appendPart(message, before+room)
		all := stored{objects: len(s.frame.Changes), memory: len(message) - before}
		if all.objects > 0 {
			all.first = s.frame.Changes[0].Envelope.Key()
		}
		return message, all
	}
	s.advanceTo(run.next, run.done)
	first := run.refs[0]
	if s.usesOtherDictionary(first) {
		message = s.appendSchema(message, arena.Dictionary(first), s.cacher.Bodies().Dictionary(first))
	}
	block := arena.BlockBodies(run.block)
	all := stored{first: arena.Key(first), objects: len(run.refs) + len(run.others), memory: len(block.Data)}
	f := wire.StoredBlock{Block: *block, Members: run.members}
	if block.Before == 0 {
		rows := s.blockOf(run.refs, func(ref store.Ref) wire.Envelope { return arena.Envelope(ref) })
		s.frame.Envelopes = rows.AppendEnvelopes(s.frame.Envelopes[:0])
		f.Rows = s.frame.Envelopes
	}
	for _, ref := range run.refs {
		all.memory += len(arena.Envelope(ref))
	}
	message = f.Append(message)
	if len(run.others) > 0 {
		before := len(message)
		s.reset()
		for _, ref := range run.others {
			message = s.addObject(message, api.Added, ref, 0, 0)
		}
		message = (&wire.SnapshotPart{Subscription: s.id, Objects: s.frame.Changes}).Append(message)
		all.memory += len(message) - before
	}
	return message, all
}

// advanceTo sets the next key of the snapshot. If done is set, no objects remain, and the
// changes since the last part follow.
func (s *subscription) advanceTo(next api.Key, done bool) {
	if s.next = next; done {
		s.phase = replaying
	}
}

// sendBlock appends a block, and before it a schema if the bodies use another dictionary.
// The argument first is the version of the first object in the block.
func (s *subscription) sendBlock(message []byte, first store.Ref, f *wire.SnapshotBlock) []byte {
	if s.usesOtherDictionary(first) {
		message = s.appendSchema(message, s.cacher.Arena().Dictionary(first), s.cacher.Bodies().Dictionary(first))
	}
	f.Subscription = s.id
	s.session.inflated += max(0, int(f.Envelopes+f.Members+f.Bodies)-len(f.Data))
	return s.charge(message, f.Append(message))
}

// blockSize estimates the size of an object in a block before compression.
func (s *subscription) blockSize(ref store.Ref) int {
	arena := s.cacher.Arena()
	size := arena.CompleteSize(ref) + 16
	if base := arena.Base(ref); base != 0 {
		size += arena.BodySize(base)
	}
	for _, l := range arena.LabelsAndOwner(ref) {
		size += len(l.Key) + len(l.Value) + 4
	}
	return size
}

// blockOf returns a block of the versions refs, with the envelopes that the function
// envelope returns. Label sets are numbered within the block.
func (s *subscription) blockOf(refs []store.Ref, envelope func(store.Ref) wire.Envelope) wire.Block {
	arena := s.cacher.Arena()
	block := wire.Block{Objects: s.frame.Changes[:0]}
	var sets []uint32 // IDs of block.LabelSets
	for _, ref := range refs {
		number, set := 0, arena.LabelSet(ref)
		for number < len(sets) && sets[number] != set {
			number++
		}
		if number == len(sets) {
			sets, block.LabelSets = append(sets, set), append(block.LabelSets, arena.Labels.Labels(set))
		}
		block.Objects = append(block.Objects, wire.Change{
			ResourceVersion: arena.ResourceVersion(ref), Flags: arena.Flags(ref), LabelSet: uint32(number), Envelope: envelope(ref),
		})
	}
	s.frame.Changes = block.Objects
	return block
}
