package persist

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// Reader restores the state of a collection from its chunks, on a new reflector. The
// collection receives the state only when the state is complete.
type Reader struct {
	config    ReaderConfig
	reflector *reflector.Reflector
	previous  uint64 // checksum of the previous chunk, or zero at the start of a snapshot
}

// ReaderConfig configures a reader.
type ReaderConfig struct {
	// Scope is the scope of the collection. Add rejects chunks of other scopes.
	Scope reflector.Scope
	// New returns a reflector that was never connected.
	New func() *reflector.Reflector
	// Load returns the body with the given name and length from the program's storage. If
	// Load is nil, each chunk must include its body.
	Load func(name, length uint32) []byte
}

// NewReader returns a reader that expects the first chunk of a state.
func NewReader(config ReaderConfig) *Reader { return &Reader{config: config} }

// Add adds a chunk. Both times are in milliseconds: now is the engine's time, and skew
// is how far that time is ahead of the program's clock. After an error the reader is
// unusable.
func (r *Reader) Add(f *wire.RestoreChunk, now, skew int64) *api.Status {
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
	body, status := r.bodyOf(&chunk, f.Body, rest)
	if status != nil {
		return status
	}
	if status := r.checkNext(&chunk); status != nil {
		return status
	}
	// The chunk's time may be in the future if the clock was set back.
	progressAt := min(chunk.LastProgressMillis+skew, now)
	if err := r.replay(&chunk, body, progressAt); err != nil {
		return api.AsStatus(err)
	}
	r.previous = 0
	if !chunk.Last {
		r.previous = wire.ChunkSum(f.Data[:len(f.Data)-len(rest)])
	}
	return nil
}

// End returns the reflector with the restored state. It returns nil for an empty
// state, which is valid.
func (r *Reader) End() (*reflector.Reflector, *api.Status) {
	switch {
	case r.previous != 0:
		return nil, api.BadRequest("the last chunk of a snapshot is missing")
	case r.reflector != nil && !r.reflector.Restored().End():
		return nil, api.BadRequest("the chunks do not contain a complete state")
	}
	return r.reflector, nil
}

// UsedBytes returns the memory of the objects, as if all bodies were loaded.
func (r *Reader) UsedBytes() int {
	if r.reflector == nil {
		return 0
	}
	return r.reflector.UsedBytes()
}

// replay processes the frames before the body of a chunk, the body, and the frames
// after the body.
func (r *Reader) replay(chunk *wire.Chunk, body *reflector.Body, progressAt int64) error {
	restored := r.reflector.Restored()
	before, after := chunk.Split()
	if err := restored.Replay(before, progressAt); err != nil {
		return err
	}
	if body != nil {
		if err := restored.ReplayBody(body); err != nil {
			return err
		}
	}
	return restored.Replay(after, progressAt)
}

// bodyOf returns the body of a chunk, or nil if the chunk has none. A body that
// follows the chunk is processed together with the chunk. A body with a name is
// loaded on demand.
func (r *Reader) bodyOf(chunk *wire.Chunk, name uint32, following []byte) (*reflector.Body, *api.Status) {
	info := &chunk.Body
	body := &reflector.Body{Objects: int(info.Objects), Memory: int(info.Memory), First: api.Key(lite.Clone(string(info.First)))}
	switch {
	case info.Objects == 0 && len(following) == 0:
		return nil, nil
	case name != 0 && len(following) == 0 && info.Objects > 0 && r.config.Load != nil:
		load, sum, length := r.config.Load, info.Sum, info.Bytes
		body.Load = func() ([]byte, *api.Status) {
			data := load(name, length)
			if len(data) != int(length) || wire.BodySum(data) != sum {
				return nil, api.BadRequest("the body of a chunk is missing or does not match its checksum")
			}
			return data, nil
		}
	case name == 0 && uint64(len(following)) == uint64(info.Bytes) && wire.BodySum(following) == info.Sum:
		body.Frames = following
	case name == 0 && uint64(len(following)) == uint64(info.Bytes):
		return nil, api.BadRequest("the body of a chunk is corrupt: its checksum does not match")
	default:
		return nil, api.BadRequest("the data is not exactly one snapshot chunk with its body")
	}
	return body, nil
}

// checkNext checks that a chunk belongs to the collection and follows the previous one.
// At the first chunk of a complete state it creates the reflector.
func (r *Reader) checkNext(chunk *wire.Chunk) *api.Status {
	if scope := scopeOf(chunk, r.config.Scope.Columns); !scope.SameObjects(r.config.Scope) {
		return api.BadRequest("a chunk is of " + scopeText(scope) + ", and the collection of " + scopeText(r.config.Scope))
	}
	switch {
	case chunk.Previous != r.previous:
		return api.BadRequest("a chunk does not follow the previous one: one is missing, or they belong to different snapshots")
	case r.previous != 0:
		return nil
	case chunk.From == 0:
		r.reflector = r.config.New()
		return nil
	case r.reflector == nil:
		return api.BadRequest("a chunk has changes after a version whose state is missing: " + chunk.From.String())
	}
	if c := r.reflector.Cacher(); c.ResourceVersion() != chunk.From || c.Upstream().ClusterID() != chunk.ClusterID {
		return api.BadRequest("a chunk has changes after version " + chunk.From.String() + ", but the state has version " +
			c.ResourceVersion().String() + " or is of another cluster")
	}
	return nil
}

// scopeOf returns the scope of a chunk. The caller supplies the columns, because a
// chunk describes its columns only in its schema.
func scopeOf(c *wire.Chunk, columns string) reflector.Scope {
	return reflector.Scope{
		Resource: c.Resource, Namespace: c.Namespace, LabelSelector: c.LabelSelector,
		FieldSelector: c.FieldSelector, MetadataOnly: c.MetadataOnly, Columns: columns,
	}
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
