package sim

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// An edge object persists changes when its engine has had no input for quietMillis,
// and at most keepMillis after the first change.
const (
	quietMillis = 1000
	keepMillis  = 10_000
)

// restore opens a collection and restores its stored state. If the engine rejects the
// state as corrupt, the collection is read from upstream again. restore does not restore
// the state of the readers, which is attached to their sockets.
func (o *edgeObject) restore(kind int) {
	o.engine.LoadWith(o.load)
	k := o.stored[kind]
	o.step(&wire.OpenCollection{Collection: o.open[kind], Resource: resourceNames[kind], Restore: k != nil})
	if k == nil {
		return
	}
	// A collection that was just closed may still be present, with a later
	// version or another source.
	o.drain()
	there := o.states[kind].ResourceVersion != 0
	fresh := o.awoke == o.world.now
	chunks, damaged, certain := k.chunks, fresh && o.rand.Int63n(8) == 0, false
	if damaged {
		chunks, certain = damage(k.chunks, o.rand)
	}
	o.refused, o.lacks = nil, false
	inFull := damaged || o.rand.Int63n(4) == 0
	for _, chunk := range chunks {
		f := &wire.RestoreChunk{Collection: o.open[kind], Data: append([]byte(nil), chunk...)}
		if !inFull {
			o.leaveOut(f, kind)
		}
		o.step(f)
	}
	o.step(&wire.RestoreChunk{Collection: o.open[kind], End: true})
	o.drain()
	s, scope := &o.states[kind], o.link.tap.scope(resourceNames[kind], check.Filter{}, false)
	switch {
	case o.refused != nil && (damaged || o.lacks || o.refused.Code == api.CodeTooLarge && o.config.MaxBytes != 0):
		if fresh && (s.ResourceVersion != 0 || s.Objects != 0) {
			o.world.fail(ErrRestore, "%s: %s is refused, and partly restored: %+v", o.name, resourceNames[kind], *s)
		}
		if s.ResourceVersion == 0 {
			scope.renew()
		}
		if damaged {
			o.world.saw(StorageDamaged)
		}
		o.stored[kind], o.refused = nil, nil
		return
	case certain:
		o.world.fail(ErrRestore, "%s: corrupt chunks of %s are accepted", o.name, resourceNames[kind])
	case o.refused != nil || fresh && s.ResourceVersion != k.rv:
		o.world.fail(ErrRestore, "%s: %s was persisted at version %d and is restored as %+v: %v", o.name, resourceNames[kind], k.rv, *s, o.refused)
	}
	if log := k.source.logs[kind]; fresh && log.Exact(k.rv) && !o.world.undetermined(log) && int(s.Objects) != len(log.List(k.rv, check.Filter{}.Match)) {
		o.world.fail(ErrRestore, "%s: %s was persisted at version %d and is restored with other objects: %+v", o.name, resourceNames[kind], k.rv, *s)
	}
	if !there && s.ResourceVersion == k.rv {
		scope.epoch = &epoch{kind: kind, source: k.source, ready: true, first: k.rv, rv: k.rv, progressAt: k.progressAt, asked: scope.asked}
	}
	o.world.saw(ObjectRestored)
}

// leaveOut removes the body of a chunk, which the engine then loads on demand.
func (o *edgeObject) leaveOut(f *wire.RestoreChunk, kind int) {
	_, _, body, err := wire.Next(f.Data)
	must(err)
	if len(body) == 0 {
		return
	}
	length := len(f.Data) - len(body)
	if o.rand.Int63n(30) == 0 {
		body = nil
	}
	o.bodies = append(o.bodies, leftOut{kind, body})
	f.Data, f.Body = f.Data[:length], uint32(len(o.bodies))
}

func (o *edgeObject) load(name, _ uint32) []byte {
	b := o.bodies[name-1]
	if b.data == nil {
		o.missed(b.kind)
	}
	o.world.saw(BodyLoaded)
	return b.data
}

// leftOut is the omitted body of a chunk. The data is nil if the body was lost.
type leftOut struct {
	kind int
	data []byte
}

// missed records that a body is missing. The engine then replaces the restored collection with
// a list from upstream.
func (o *edgeObject) missed(kind int) {
	o.link.tap.scope(resourceNames[kind], check.Filter{}, false).renew()
	o.stored[kind], o.lacks = nil, true
	o.world.saw(BodyMissed)
}

// keepAt returns the time at which changes are persisted, or zero if there are
// none.
func (o *edgeObject) keepAt() int64 {
	if o.engine == nil || o.steps == o.stepped {
		return 0
	}
	if o.since == 0 {
		o.since = o.world.now
	}
	return min(o.steppedAt+quietMillis, o.since+keepMillis)
}

// persist stores changes and then, immediately or later, the state of each reader.
func (o *edgeObject) persist() {
	for kind := range kinds {
		if rv := o.states[kind].ResourceVersion; rv != 0 && (o.stored[kind] == nil || o.stored[kind].rv != rv) {
			o.store(kind)
		}
	}
	o.since = 0
	if o.rand.Int63n(3) == 0 {
		engine := o.engine
		o.world.later(func() {
			if o.engine == engine {
				o.keepReaders()
			}
		})
	} else {
		o.keepReaders()
	}
	o.checkHeld()
	o.steps = o.stepped
}

func (o *edgeObject) keepReaders() {
	for _, a := range o.readers {
		if a.stirred {
			o.step(&wire.SaveReader{Reader: a.id})
		}
	}
	o.drain()
}

// store persists a collection, completely or incrementally.
func (o *edgeObject) store(kind int) {
	o.lastID++
	f := wire.TakeSnapshot{Request: o.lastID, Collection: o.open[kind], ChunkBytes: uint32(pick(o.rand, 300, 3000, 0))}
	next := &storedScope{kind: kind, key: resourceNames[kind]}
	if k := o.stored[kind]; k != nil && len(k.chunks) < 20 {
		f.ResourceVersion, f.ClusterID, next.chunks = k.rv, k.source.name, k.chunks[:len(k.chunks):len(k.chunks)]
	}
	for o.ask(&f); o.refused == nil; o.ask(&wire.NextChunk{Request: f.Request}) {
		c := o.chunk
		if c == nil {
			o.world.fail(ErrRestore, "%s: an incremental snapshot of %s has no base", o.name, next.key)
		}
		if c.Whole && f.ResourceVersion != 0 {
			next.chunks, f.ResourceVersion = nil, 0
		}
		next.chunks = append(next.chunks, c.Data)
		if c.Last {
			next.rv, next.source = c.ResourceVersion, o.world.sourceNamed(c.ClusterID)
			next.progressAt = o.link.tap.scope(resourceNames[kind], check.Filter{}, false).progressAt
			o.stored[kind] = next
			return
		}
	}
	o.refused = nil // the collection was relisted meanwhile, and is persisted the next time
}

func (o *edgeObject) ask(f frame) {
	o.chunk, o.refused = nil, nil
	o.step(f)
	o.drain()
}
