package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/persist"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// restore reads the persisted state of a shared collection. The collection is empty and
// does not subscribe until the state is complete.
type restore struct {
	collection *collection // the collection for which the program supplies the state
	reader     *persist.Reader
}

func (e *Engine) newRestore(c *collection) *restore {
	return &restore{c, persist.NewReader(persist.ReaderConfig{
		Scope: c.shared.scope,
		New:   func() *reflector.Reflector { return e.newReflector(c.shared, objcache.Version{}) },
		Load:  e.load,
	})}
}

func (e *Engine) restoreChunk(f *wire.RestoreChunk) {
	c := e.findCollection(f.Collection)
	if c == nil {
		return
	}
	b := c.shared
	if b.restore == nil || b.restore.collection != c {
		return // already rejected, or another collection with the same scope was open and has newer data
	}
	var status *api.Status
	var restored *reflector.Reflector
	if len(f.Data) > 0 {
		status = b.restore.reader.Add(f, e.now, e.skew)
	}
	if status == nil && e.usedBytes() > e.cfg.MaxBytes {
		status = api.TooLarge("its objects need more memory than the " + number(e.cfg.MaxBytes) + " bytes allowed")
	}
	if status == nil && f.End {
		restored, status = b.restore.reader.End()
	}
	switch {
	case status != nil:
		refused := *status
		refused.Message = "the stored state cannot be restored: " + refused.Message
		e.reject(wire.ObjectRestore, c.id, &refused)
		b.endRestore(e)
	case f.End:
		b.restored(e, restored)
	}
}

// restored installs the restored state, if there is one, and resumes from that state.
func (b *sharedCollection) restored(e *Engine, r *reflector.Reflector) {
	if r != nil {
		b.adopt(e, r)
		b.described(e)
		faults, _ := b.cacher.Faults()
		for _, f := range faults {
			e.reportFault(b, &wire.ObjectError{Key: f.Key, ResourceVersion: f.ResourceVersion, Status: f.Status})
		}
	}
	b.endRestore(e)
}

// endRestore ends the restore and subscribes.
func (b *sharedCollection) endRestore(e *Engine) {
	b.restore = nil
	b.connect(e)
}

// usedBytes returns the memory of the objects and of the views in bytes, including
// objects that are being restored.
func (b *sharedCollection) usedBytes() uint64 {
	used := b.reflector.UsedBytes() + b.views.UsedBytes()
	if b.joined.join != nil {
		used += b.joined.join.UsedBytes()
	}
	if b.restore != nil {
		used += b.restore.reader.UsedBytes()
	}
	return uint64(used)
}

// usedBytes returns the memory in bytes of all objects, and of the data that the
// engine stores about objects for views.
//
//go:noinline
func (e *Engine) usedBytes() uint64 {
	used := uint64(e.owners.UsedBytes())
	for _, b := range e.sharedCollections {
		used += b.usedBytes()
	}
	return used
}
