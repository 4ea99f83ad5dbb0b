package sim

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// storedScope is a persisted scope: a complete state and later changes. It outlives the
// engine.
type storedScope struct {
	key        string
	kind       int
	meta       bool
	filter     check.Filter
	chunks     [][]byte
	source     *source
	rv         api.ResourceVersion
	progressAt int64 // time of the last progress
}

// taking is a snapshot in progress.
type taking struct {
	id         uint32
	collection *collection
	key        string
	fresh      [][]byte
	rand       *lite.Rand
}

func (r *reader) storedScope(key string) *storedScope {
	for _, k := range r.stored {
		if k.key == key {
			return k
		}
	}
	return nil
}

// snapshot starts a complete or incremental snapshot of a collection, or continues the
// snapshot in progress.
func snapshot(rd *reader, r *lite.Rand) {
	c := rd.anyCollection(r)
	key := scopeKey(resourceNames[c.kind], c.filter, c.meta)
	for _, t := range rd.taken {
		if t.key == key {
			rd.step(&wire.NextChunk{Request: t.id})
			return
		}
	}
	t := &taking{id: rd.id32(), collection: c, key: key, rand: lite.NewRand(r.Uint64())}
	f := wire.TakeSnapshot{Request: t.id, Collection: c.id, ChunkBytes: uint32(pick(r, 1, 300, 3000, 0))}
	if k := rd.storedScope(key); k != nil && r.Int63n(3) > 0 {
		f.ResourceVersion, f.ClusterID = k.rv, rd.sourceName(k.source)
	}
	rd.taken = append(rd.taken, t)
	rd.step(&f)
}

func (r *reader) taking(id uint32) *taking {
	for _, t := range r.taken {
		if t.id == id {
			return t
		}
	}
	return nil
}

// snapshotFailed reports whether an error is the response to a snapshot. If so, it ends
// that snapshot.
func (r *reader) snapshotFailed(f *wire.ErrorReply) bool {
	t := r.taking(f.Request)
	if t == nil {
		return false
	}
	r.taken = without(r.taken, t)
	if f.Status.Code != api.CodeGone && f.Status.Code != api.CodeServiceUnavailable {
		r.world.fail(ErrProtocol, "reader %d: no snapshot of %s: %v", r.id, t.key, f.Status)
	}
	return true
}

func (r *reader) snapshotChunk(f *wire.SnapshotChunk) {
	w := r.world
	t := r.taking(f.Request)
	if t == nil {
		w.fail(ErrProtocol, "reader %d: a chunk for request %d, which is not for a snapshot", r.id, f.Request)
		return
	}
	t.fresh = append(t.fresh, slices.Clone(f.Data))
	switch {
	case f.Last:
		r.store(t, f)
	case t.rand.Int63n(3) > 0:
		w.later(func() {
			if r.drain(); r.taking(t.id) == t {
				r.step(&wire.NextChunk{Request: t.id})
			}
		})
	}
}

func (r *reader) store(t *taking, f *wire.SnapshotChunk) {
	r.taken = without(r.taken, t)
	c, k := t.collection, r.storedScope(t.key)
	if k == nil {
		k = &storedScope{key: t.key, kind: c.kind, meta: c.meta, filter: c.filter}
		r.stored = append(r.stored, k)
	}
	if f.Whole {
		k.chunks = nil
	} else {
		r.world.saw(SnapshotOfChanges)
	}
	k.chunks = append(k.chunks, t.fresh...)
	k.rv, k.progressAt = f.ResourceVersion, r.scope(c).progressAt
	k.source = r.world.sourceNamed(f.ClusterID)
	if k.source == nil || f.ResourceVersion != c.reported.ResourceVersion {
		r.world.fail(ErrRestore, "reader %d: a snapshot of %s is of %q at %d, and the collection at %d",
			r.id, t.key, f.ClusterID, f.ResourceVersion, c.reported.ResourceVersion)
	}
}

// restore replaces the engine and restores most of the persisted states. A state may be of
// any age, and may be corrupt.
func restore(rd *reader, r *lite.Rand) {
	rd.reload(false)
	for _, k := range rd.stored {
		if r.Int63n(4) > 0 {
			rd.restore(k, r)
		}
	}
}

func (rd *reader) restore(k *storedScope, r *lite.Rand) {
	c := &collection{id: rd.id32(), kind: k.kind, meta: k.meta, filter: k.filter, opened: rd.world.now}
	rd.collections = append(rd.collections, c)
	rd.stepOpen(c, true)
	chunks, refused := k.chunks, rd.refused
	damaged, certain := r.Int63n(4) == 0, false
	if damaged {
		chunks, certain = damage(k.chunks, r)
	}
	for _, chunk := range chunks {
		rd.step(&wire.RestoreChunk{Collection: c.id, Data: slices.Clone(chunk)})
		if r.Int63n(8) == 0 {
			rd.drain()
		}
	}
	s := rd.scope(c)
	s.epoch = &epoch{kind: s.kind, source: k.source, ready: true, first: k.rv, rv: k.rv, progressAt: k.progressAt}
	rd.step(&wire.RestoreChunk{Collection: c.id, End: true})
	rd.drain()
	rd.judgeRestore(c, k, damaged, certain, rd.refused > refused)
}

// damage corrupts, truncates or removes one chunk. certain is false if the result may be
// accepted, because a removed chunk may have had no content.
func damage(chunks [][]byte, r *lite.Rand) (damaged [][]byte, certain bool) {
	chunks = slices.Clone(chunks)
	at := int(r.Int63n(int64(len(chunks))))
	switch lost := len(chunks) > 1 && at < len(chunks)-1; r.Int63n(3) {
	case 0:
		chunks[at] = slices.Clone(chunks[at])
		chunks[at][r.Int63n(int64(len(chunks[at])))] ^= byte(1 << r.Int63n(8))
	case 1:
		chunks[at] = chunks[at][:r.Int63n(int64(len(chunks[at]))-1)+1]
	default:
		if lost {
			return slices.Delete(chunks, at, at+1), false
		}
		chunks[at] = []byte{1, 2, 3}
	}
	return chunks, true
}

// judgeRestore checks that the state was restored completely and is not reported
// as live, or was not restored at all.
func (r *reader) judgeRestore(c *collection, k *storedScope, damaged, certain, refused bool) {
	w := r.world
	switch {
	case refused && !damaged && w.setup.Budget <= 1 && !r.corrupted: // the list may have arrived with corrupt bodies
		w.fail(ErrRestore, "reader %d: the persisted state of %s is refused", r.id, k.key)
	case refused:
		if c.reported.ResourceVersion != 0 || c.reported.Objects != 0 {
			w.fail(ErrRestore, "reader %d: %s is refused, and partly restored: %+v", r.id, k.key, c.reported)
		}
		if e := r.scope(c); e.source == k.source && e.first == k.rv {
			e.renew()
		}
		w.saw(SnapshotRefused)
		return
	case certain:
		w.fail(ErrRestore, "reader %d: corrupt chunks of %s are accepted", r.id, k.key)
	}
	w.saw(SnapshotRestored)
	log := k.source.logs[k.kind]
	want := len(log.List(k.rv, k.filter.Match))
	exact := log.Exact(k.rv) && !r.world.undetermined(log)
	if c.reported.ResourceVersion != k.rv || c.reported.State == api.StateLive || exact && int(c.reported.Objects) != want {
		w.fail(ErrRestore, "reader %d: %s was persisted at version %d with %d objects, and restored as %+v", r.id, k.key, k.rv, want, c.reported)
	}
}
