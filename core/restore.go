package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// restore receives the persisted state of a shared collection. It builds the
// state separately and installs it when it is complete. Until then the shared
// collection is empty and does not subscribe.
type restore struct {
	collection *collection // the collection that supplies the state
	reflector  *reflector.Reflector
	previous   uint64 // checksum of the previous chunk, or zero at the start of a snapshot
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
	if len(f.Data) > 0 {
		status = b.restore.take(e, b, f)
	}
	if status == nil && f.End {
		status = b.restore.check()
	}
	switch {
	case status != nil:
		refused := *status
		refused.Message = "the stored state cannot be restored: " + refused.Message
		e.reject(wire.ObjectRestore, c.id, &refused)
		b.endRestore(e)
	case f.End:
		b.restored(e)
	}
}

// take adds a chunk.
func (r *restore) take(e *Engine, b *sharedCollection, f *wire.RestoreChunk) *api.Status {
	var chunk wire.Chunk
	t, payload, rest, err := wire.Next(f.Data)
	switch {
	case err != nil:
		return api.AsStatus(err)
	case t != wire.TypeChunk:
		return api.BadRequest("the data is not exactly one snapshot chunk")
	}
	if err := chunk.Parse(payload); err != nil {
		return api.AsStatus(err)
	}
	body, status := e.bodyOf(&chunk, f, rest)
	if status != nil {
		return status
	}
	if status := r.place(e, b, &chunk); status != nil {
		return status
	}
	// A time in the future results from a clock that was reset.
	progressAt := min(chunk.LastProgressMillis+e.skew, e.now)
	if err := r.replay(&chunk, body, progressAt); err != nil {
		return api.AsStatus(err)
	}
	r.previous = 0
	if !chunk.Last {
		r.previous = wire.ChunkSum(f.Data[:len(f.Data)-len(rest)])
	}
	if e.usedBytes() > e.cfg.MaxBytes {
		return api.TooLarge("its objects need more memory than the " + number(e.cfg.MaxBytes) + " bytes allowed")
	}
	return nil
}

// replay processes the frames of a chunk, with the chunk's body between them.
func (r *restore) replay(chunk *wire.Chunk, body *reflector.Body, progressAt int64) error {
	before, behind := chunk.Split()
	if err := r.reflector.Replay(before, progressAt); err != nil {
		return err
	}
	if body != nil {
		if err := r.reflector.ReplayBody(body); err != nil {
			return err
		}
	}
	return r.reflector.Replay(behind, progressAt)
}

// bodyOf returns the body of a chunk, or nil if it has none. A body in the frame is
// processed with the chunk. Otherwise the body is loaded on demand.
func (e *Engine) bodyOf(chunk *wire.Chunk, f *wire.RestoreChunk, behind []byte) (*reflector.Body, *api.Status) {
	info := &chunk.Body
	body := &reflector.Body{Objects: int(info.Objects), Bytes: int(info.Bytes), First: api.Key(lite.Clone(string(info.First)))}
	switch {
	case info.Objects == 0 && len(behind) == 0:
		return nil, nil
	case f.Body != 0 && len(behind) == 0 && info.Objects > 0 && e.load != nil:
		name, sum, length := f.Body, info.Sum, info.Bytes
		body.Load = func() ([]byte, *api.Status) {
			data := e.load(name, length)
			if len(data) != int(length) || wire.BodySum(data) != sum {
				return nil, api.BadRequest("the body of a chunk is missing or does not match its checksum")
			}
			return data, nil
		}
	case f.Body == 0 && uint64(len(behind)) == uint64(info.Bytes) && wire.BodySum(behind) == info.Sum:
		body.Frames = behind
	case f.Body == 0 && uint64(len(behind)) == uint64(info.Bytes):
		return nil, api.BadRequest("the body of a chunk is corrupt: its checksum does not match")
	default:
		return nil, api.BadRequest("the data is not exactly one snapshot chunk with its body")
	}
	return body, nil
}

// place checks that a chunk follows the previous ones.
func (r *restore) place(e *Engine, b *sharedCollection, chunk *wire.Chunk) *api.Status {
	switch {
	case !sameScope(scopeOf(chunk, b.scope.Columns), b.scope):
		return api.BadRequest("a chunk is of " + scopeText(scopeOf(chunk, "")) + ", and the collection of " + scopeText(b.scope))
	case chunk.Previous != r.previous:
		return api.BadRequest("a chunk does not follow the previous one: one is missing, or they belong to different snapshots")
	case r.previous != 0:
		return nil
	case chunk.From == 0:
		r.reflector = e.newReflector(b.scope, objcache.Version{})
		return nil
	case r.reflector == nil:
		return api.BadRequest("a chunk has changes after a version whose state is missing: " + chunk.From.String())
	}
	if c := r.reflector.Cacher(); c.ResourceVersion() != chunk.From || c.Upstream().Source() != chunk.Source {
		return api.BadRequest("a chunk has changes after version " + chunk.From.String() + ", but the state has version " +
			c.ResourceVersion().String() + " or is of another source")
	}
	return nil
}

// scopeText returns the text of a scope for error messages.
func scopeText(s reflector.Scope) string {
	text := s.Resource
	for _, part := range [...]struct{ name, value string }{
		{"namespace", s.Namespace}, {"labels", s.LabelSelector}, {"fields", s.FieldSelector},
	} {
		if part.value != "" {
			text += " " + part.name + "=" + part.value
		}
	}
	if s.MetadataOnly {
		text += " without bodies"
	}
	return text
}

// check validates the end of the persisted state. An empty state is valid.
func (r *restore) check() *api.Status {
	switch {
	case r.previous != 0:
		return api.BadRequest("the last chunk of a snapshot is missing")
	case r.reflector != nil && !r.reflector.Replayed():
		return api.BadRequest("the chunks do not contain a complete state")
	}
	return nil
}

// restored installs the restored state and resumes from it.
func (b *sharedCollection) restored(e *Engine) {
	if r := b.restore.reflector; r != nil {
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

// usedBytes returns the memory of the objects, including those being restored.
func (b *sharedCollection) usedBytes() uint64 {
	used := b.reflector.UsedBytes()
	if b.restore != nil && b.restore.reflector != nil {
		used += b.restore.reflector.UsedBytes()
	}
	return uint64(used)
}

// usedBytes returns the memory of all objects.
//
//go:noinline
func (e *Engine) usedBytes() (used uint64) {
	for _, b := range e.sharedCollections {
		used += b.usedBytes()
	}
	return used
}
