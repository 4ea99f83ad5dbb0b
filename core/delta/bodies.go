package delta

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Bodies contains the dictionaries and bases of a collection's bodies.
type Bodies struct {
	arena        *store.Arena
	window       *history.Window
	epoch        uint64
	dictionaries dictionaries
	scratch      []byte
}

// Init initializes the bodies of versions in the arena. The epoch is a seed for
// [Bodies.Epoch], and the window counts the lists.
func (b *Bodies) Init(arena *store.Arena, window *history.Window, epoch uint64) {
	b.arena, b.window, b.epoch = arena, window, epoch
}

// Epoch returns the delta epoch, which identifies the assignment of bases to versions.
// Within one epoch, the base of a version does not change. Zero means that the collection
// has no epochs.
func (b *Bodies) Epoch() uint64 {
	if b.epoch == 0 {
		return 0
	}
	return max(b.epoch+uint64(b.window.Generation()), 1)
}

// BaseFor returns the version that the next body of an object may use as the base of
// a delta. The argument current is the current version, or zero. BaseFor returns zero
// if that body must not be a delta. It adds no reference.
func (b *Bodies) BaseFor(current store.Ref) store.Ref {
	base := b.baseBeside(current)
	if base == 0 || b.arena.Dictionary(base) != b.dictionaries.current.number {
		return 0
	}
	return base
}

// baseBeside returns the base that the successor of a version may use: the version's
// own base, or the version itself. It returns zero if the version has no body.
func (b *Bodies) baseBeside(ref store.Ref) store.Ref {
	if ref == 0 {
		return 0
	}
	if base := b.arena.Base(ref); base != 0 {
		return base
	}
	if b.arena.Envelope(ref).Body().Codec == api.NoBody {
		return 0
	}
	return ref
}

// Stored returns the base for a version that is about to be stored, and adds a reference
// to the base. It returns zero if the body is not a delta. The argument previous is the
// current version, or zero. If member is not zero, it locates the body in a block, which
// then also contains the base. Stored fails if the base is not stored and arrives without
// its body.
func (b *Bodies) Stored(key api.Key, rv api.ResourceVersion, base *wire.Base, previous store.Ref, member store.MemberRef) (store.Ref, *api.Status) {
	if base.ResourceVersion == 0 {
		return 0, nil
	}
	if known := b.baseBeside(previous); known != 0 && b.isBase(known, base) {
		return b.arena.Retain(known), nil
	}
	if base.Body.Codec == api.NoBody {
		return 0, api.Protocol("the body of " + string(key) + " at version " + rv.String() +
			" is a delta from version " + base.ResourceVersion.String() + ", which is missing")
	}
	if member.Block != 0 {
		member.Index++
		member.Size = member.BaseSize
	}
	b.scratch = wire.AppendEnvelope(b.scratch[:0], &api.Object{Key: key, Body: base.Body})
	return b.arena.Put(store.Version{
		ResourceVersion: base.ResourceVersion, LabelSet: b.arena.Labels.Intern(nil),
		Dictionary: b.dictionaries.current.number, Envelope: b.scratch, Member: member,
	}), nil
}

// Set sets the body of a version of the current state that has no body yet. Setting a
// body does not count as a change to the object. A member that is not zero locates the
// body in the open block of the arena. Set fails, without any change, if the base of the
// body is missing.
func (b *Bodies) Set(ref store.Ref, body *wire.RowBody, member store.MemberRef) *api.Status {
	base, status := b.Stored(b.arena.Key(ref), b.arena.ResourceVersion(ref), &body.Base, 0, member)
	if status == nil {
		b.arena.SetBody(ref, body.Body, member, b.Number(), base)
	}
	return status
}

// Has reports whether the body of a version has the given base and the current dictionary.
// The zero Base means no base.
func (b *Bodies) Has(ref store.Ref, base *wire.Base) bool {
	return b.arena.Dictionary(ref) == b.dictionaries.current.number &&
		(b.arena.Base(ref) == 0) == (base.ResourceVersion == 0) &&
		(base.ResourceVersion == 0 || b.isBase(b.arena.Base(ref), base))
}

// isBase reports whether a version is the given base. If the base includes a body,
// the bytes of both bodies must be equal.
func (b *Bodies) isBase(ref store.Ref, base *wire.Base) bool {
	if b.arena.ResourceVersion(ref) != base.ResourceVersion || b.arena.Dictionary(ref) != b.dictionaries.current.number {
		return false
	}
	if base.Body.Codec == api.NoBody {
		return true
	}
	body := b.arena.Body(ref)
	return body.Codec == base.Body.Codec && string(body.Data) == string(base.Body.Data)
}
