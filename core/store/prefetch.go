package store

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Updating one object in a large collection causes cache misses: for the index slot, the
// current version, its base and its bytes. Evicting the oldest version from the history
// causes cache misses as well. The reads of one update depend on each other. Doing each
// step for many objects together overlaps the cache misses.

const cacheLine = 64

// Prefetch appends one ID per change to the slice into: the ID of the object that the change
// probably updates, or zero. It prefetches the memory that these updates read.
func (s *Store) Prefetch(into []ID, changes []wire.Change) []ID {
	start := len(into)
	for i := range changes {
		into = append(into, s.index.guess(changes[i].Key))
	}
	for _, id := range into[start:] {
		s.arena.warmRecord(s.versions[id])
	}
	for _, id := range into[start:] {
		const most = 256 // bytes of an envelope before the body
		s.arena.warmBytes(s.versions[id], most)
	}
	return into
}

// Prefetch prefetches the memory that Release reads for the given versions. It also prefetches
// the bytes of these versions, because later versions reuse that memory.
func (a *Arena) Prefetch(refs []Ref) {
	for _, ref := range refs {
		a.warmRecord(ref)
	}
	for _, ref := range refs {
		a.warmBytes(ref, maxSpan)
	}
}

func (a *Arena) warmRecord(ref Ref) {
	if ref != 0 {
		a.warm += uint8(a.record(ref).refs)
	}
}

// warmBytes reads the bytes of a version, up to the limit most, and the record of its
// base.
func (a *Arena) warmBytes(ref Ref, most int) {
	if ref == 0 {
		return
	}
	r := a.record(ref)
	b := a.slab.bytes(r.at)
	for i := 0; i < min(len(b), most); i += cacheLine {
		a.warm += b[i]
	}
	if r.base != 0 {
		a.warm += uint8(a.record(r.base).refs)
	}
}

// guess returns the first object whose hash tag matches that of the key, or zero. The
// object may have a different key.
func (x *index) guess(key api.Key) ID {
	h := hash(key)
	t := &x.tables[tableOf(h)]
	if t.count == 0 {
		return 0
	}
	mask, tag := t.slots()-1, tagOf(h)
	for i := int(h) & mask; ; i = (i + 1) & mask {
		g := &t.groups[uint(i)/groupSize]
		if id := g.ids[i%groupSize]; id == 0 || g.tags[i%groupSize] == tag {
			return id
		}
	}
}
