package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

const (
	defaultChunkBytes = 256 << 10
	maxChunkBytes     = 1 << 20
)

// export is a snapshot that is being sent to the program. Between two chunks it
// stores only a position, so a slow program costs nothing. If the history window
// moves past the position, the program must start over.
type export struct {
	request    uint32
	collection *collection
	copy       *session.SnapshotReader
	chunkBytes int
	wanted     bool   // the next chunk was requested
	previous   uint64 // checksum of the last chunk
	// The buffers are reused for the next chunk. New ones would become garbage
	// faster than it is collected, and the module's memory never shrinks.
	piece session.SnapshotChunk
	data  []byte
}

func (e *Engine) takeSnapshot(f *wire.TakeSnapshot) {
	c := e.findCollection(f.Collection)
	switch {
	case c == nil:
		e.replyError(f.Request, api.NotFound("the collection is not open"))
		return
	case e.findExport(f.Request) != nil:
		e.replyError(f.Request, api.BadRequest("a snapshot with this number already exists"))
		return
	case !c.shared.cacher.Ready() || !c.shared.reflector.Complete():
		e.replyError(f.Request, api.Unavailable("the collection has no state yet that could be stored"))
		return
	}
	copied, status := session.NewSnapshotReader(c.shared.serve(), f.ResourceVersion, f.Source)
	if status != nil {
		e.replyError(f.Request, status)
		return
	}
	size := int(min(f.ChunkBytes, maxChunkBytes))
	if size == 0 {
		size = defaultChunkBytes
	}
	e.exports = append(e.exports, &export{
		request: f.Request, collection: c, copy: copied, chunkBytes: size, wanted: true,
	})
}

func (e *Engine) nextChunk(f *wire.NextChunk) {
	x := e.findExport(f.Request)
	switch {
	case x == nil && f.Stop: // it has already ended
	case x == nil:
		e.replyError(f.Request, api.NotFound("there is no snapshot with this number"))
	case f.Stop:
		x.close(e)
	default:
		x.wanted = true
	}
}

func (e *Engine) findExport(request uint32) *export {
	for _, x := range e.exports {
		if x.request == request {
			return x
		}
	}
	return nil
}

func (x *export) close(e *Engine) {
	x.copy.Close()
	e.exports = lite.Remove(e.exports, x)
}

func (x *export) fail(e *Engine, status *api.Status) {
	e.replyError(x.request, status)
	x.close(e)
}

// report sends the requested chunk.
func (x *export) report(e *Engine) {
	if !x.wanted {
		return
	}
	x.wanted = false
	if status := x.copy.Next(&x.piece, x.chunkBytes); status != nil {
		x.fail(e, status)
		return
	}
	b := x.collection.shared
	chunk := wire.Chunk{
		Resource: b.scope.Resource, Namespace: b.scope.Namespace, LabelSelector: b.scope.LabelSelector,
		FieldSelector: b.scope.FieldSelector, MetadataOnly: b.scope.MetadataOnly,
		Source: b.cacher.Upstream().Source(), From: x.copy.From(), Previous: x.previous, Last: x.piece.Last,
		Frames: x.piece.Frames, Body: x.piece.Info,
		LastProgressMillis: e.outside(b.reflector.State().LastProgressMillis),
	}
	x.data = chunk.Append(x.data[:0])
	x.previous = wire.ChunkSum(x.data)
	x.data = append(x.data, x.piece.Body...)
	reply := wire.SnapshotChunk{Request: x.request, Whole: chunk.From == 0, Last: chunk.Last, Data: x.data}
	if chunk.Last {
		reply.ResourceVersion, reply.Source = x.copy.ResourceVersion(), chunk.Source
		x.close(e)
	}
	e.out = reply.Append(e.out)
}

// scopeOf returns the scope of a chunk. The schema of the chunk describes its
// columns.
func scopeOf(c *wire.Chunk, columns string) reflector.Scope {
	return reflector.Scope{
		Resource: c.Resource, Namespace: c.Namespace, LabelSelector: c.LabelSelector,
		FieldSelector: c.FieldSelector, MetadataOnly: c.MetadataOnly, Columns: columns,
	}
}
