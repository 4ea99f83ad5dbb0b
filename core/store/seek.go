package store

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// An update of one object among many reads memory that is in no cache of the
// processor: the slot of its key, the version held, that one's base and bytes; and
// as much again to let the oldest version in the history go. Each of these steps
// waits for the one before, and the next object for this one. Taken for many objects
// step by step, all waits of a step are one.

const cacheLine = 64

// Seek appends, for each of many changes, the object that it most likely is of, or
// zero, and brings close what an update of that object reads.
func (s *Store) Seek(into []ID, changes []wire.Change) []ID {
	start := len(into)
	for i := range changes {
		into = append(into, s.index.guess(changes[i].Key))
	}
	for _, id := range into[start:] {
		s.heap.warmRecord(s.versions[id])
	}
	for _, id := range into[start:] {
		const most = 256 // of an envelope, what is before the body
		s.heap.warmBytes(s.versions[id], most)
	}
	return into
}

// Seek brings close what is read of versions to let them go, and their bytes, which
// the next versions are put into.
func (h *Heap) Seek(refs []Ref) {
	for _, ref := range refs {
		h.warmRecord(ref)
	}
	for _, ref := range refs {
		h.warmBytes(ref, maxSpan)
	}
}

func (h *Heap) warmRecord(ref Ref) {
	if ref != 0 {
		h.warm += uint8(h.record(ref).refs)
	}
}

// warmBytes reads a version's base, and of its bytes some.
func (h *Heap) warmBytes(ref Ref, most int) {
	if ref == 0 {
		return
	}
	r := h.record(ref)
	b := h.slab.bytes(r.at)
	for i := 0; i < min(len(b), most); i += cacheLine {
		h.warm += b[i]
	}
	if r.base != 0 {
		h.warm += uint8(h.record(r.base).refs)
	}
}

// guess returns the first object whose hash looks like that of a key, or zero.
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
