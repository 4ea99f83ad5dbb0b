package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A body may be a delta from the body of an earlier version of the same object,
// its base. Consecutive versions in the history usually share a base: the base
// of a version is that of the previous version, or the previous version itself.
// Exceptions are complete bodies and bodies that arrive together with their
// base. A version and its base are compressed with the same dictionary.

// DeltaEpoch identifies the assignment of bases in the collection. As long as it is
// the same, every version of every object has the same base. Zero means that it
// has no identity.
func (c *Cacher) DeltaEpoch() uint64 {
	if c.deltaEpoch == 0 {
		return 0
	}
	return max(c.deltaEpoch+uint64(c.generation), 1)
}

// BaseFor returns the version that the next body of an object may be a delta
// from, or zero if that body must be complete. It adds no reference.
func (c *Cacher) BaseFor(key api.Key) store.Ref {
	base := c.baseBeside(c.state.Get(key))
	if base == 0 || c.heap.Dictionary(base) != c.dictionaries.current.number {
		return 0
	}
	return base
}

// baseBeside returns the base that the successor of a version may use: the
// version's own base, or the version itself.
func (c *Cacher) baseBeside(ref store.Ref) store.Ref {
	if ref == 0 {
		return 0
	}
	if base := c.heap.Base(ref); base != 0 {
		return base
	}
	if c.heap.Envelope(ref).Body().Codec == api.NoBody {
		return 0
	}
	return ref
}

// base returns the base of an object to be stored, with a reference, given the
// current version. It fails if the base is neither stored nor part of p.
func (c *Cacher) base(p *Put, previous store.Ref) (store.Ref, *api.Status) {
	if p.Base.ResourceVersion == 0 {
		return 0, nil
	}
	if known := c.baseBeside(previous); known != 0 && c.isBase(known, &p.Base) {
		return c.heap.Retain(known), nil
	}
	return c.makeBase(p)
}

// makeBase stores the base that is part of p.
func (c *Cacher) makeBase(p *Put) (store.Ref, *api.Status) {
	if p.Base.Body.Codec == api.NoBody {
		return 0, api.Protocol("the body of " + string(p.Envelope.Key()) + " at version " + p.ResourceVersion.String() +
			" is a delta from version " + p.Base.ResourceVersion.String() + ", which is missing")
	}
	c.scratch = wire.AppendEnvelope(c.scratch[:0], &api.Object{Key: p.Envelope.Key(), Body: p.Base.Body})
	return c.heap.Put(store.Version{
		ResourceVersion: p.Base.ResourceVersion, LabelSet: c.heap.Labels.Intern(nil),
		Dictionary: c.dictionaries.current.number, Envelope: c.scratch,
	}), nil
}

// isBase reports whether a version is the given base. If the base has a body, the
// bytes must be equal.
func (c *Cacher) isBase(ref store.Ref, base *wire.Base) bool {
	if c.heap.ResourceVersion(ref) != base.ResourceVersion || c.heap.Dictionary(ref) != c.dictionaries.current.number {
		return false
	}
	if base.Body.Codec == api.NoBody {
		return true
	}
	body := c.heap.Envelope(ref).Body()
	return body.Codec == base.Body.Codec && string(body.Data) == string(base.Body.Data)
}

// Base returns the body that the body of ref is a delta from, which is compressed
// with the same dictionary. It returns the zero Body if there is none.
func (c *Cacher) Base(ref store.Ref) api.Body {
	if base := c.heap.Base(ref); base != 0 {
		return c.heap.Envelope(base).Body()
	}
	return api.Body{}
}
