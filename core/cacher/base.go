package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A body may be the difference from the body of an earlier version of its
// object, its base. The versions that follow one another in the history keep
// one base for a while: the base of a version is that of the version before, or
// the version before itself, unless its body stands for itself or brings its
// base along. Version and base are compressed with the same dictionary.

// Bases names the bases of the collection: while the name is the same, every
// version of every object has the same base for ever. Zero is no name.
func (c *Cacher) Bases() uint64 {
	if c.bases == 0 {
		return 0
	}
	return max(c.bases+uint64(c.generation), 1)
}

// BaseFor returns the version that the next body of an object can be the
// difference from, without a count; zero when it has to stand for itself.
func (c *Cacher) BaseFor(key api.Key) store.Ref {
	base := c.baseBeside(c.state.Get(key))
	if base == 0 || c.heap.Dictionary(base) != c.dictionaries.current.number {
		return 0
	}
	return base
}

// baseBeside is the base that a version brings into play: its own, or itself.
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

// base finds or makes the base of an object that is put in, with a count, given
// the version held. The status says that it is not here and was not brought
// along.
func (c *Cacher) base(p *Put, previous store.Ref) (store.Ref, *api.Status) {
	if p.Base.ResourceVersion == 0 {
		return 0, nil
	}
	if known := c.baseBeside(previous); known != 0 && c.isBase(known, &p.Base) {
		return c.heap.Retain(known), nil
	}
	return c.makeBase(p)
}

// makeBase stores the base that was brought along.
func (c *Cacher) makeBase(p *Put) (store.Ref, *api.Status) {
	if p.Base.Body.Codec == api.NoBody {
		return 0, api.Protocol("the body of " + string(p.Envelope.Key()) + " at version " + p.ResourceVersion.String() +
			" is the difference from version " + p.Base.ResourceVersion.String() + ", which is not here")
	}
	c.scratch = wire.AppendEnvelope(c.scratch[:0], &api.Object{Key: p.Envelope.Key(), Body: p.Base.Body})
	return c.heap.Put(store.Version{
		ResourceVersion: p.Base.ResourceVersion, LabelSet: c.heap.Labels.Intern(nil),
		Dictionary: c.dictionaries.current.number, Envelope: c.scratch,
	}), nil
}

// isBase: a version is the base meant, with the very bytes if they are given.
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

// Base is the body that a version's is the difference from; it is compressed
// with the same dictionary. The zero body when there is none.
func (c *Cacher) Base(ref store.Ref) api.Body {
	if base := c.heap.Base(ref); base != 0 {
		return c.heap.Envelope(base).Body()
	}
	return api.Body{}
}
