package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/persist"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// openSnapshot is a snapshot that the program reads chunk by chunk.
type openSnapshot struct {
	request    uint32
	collection *collection
	writer     *persist.Writer
	wanted     bool // the next chunk was requested
}

func (e *Engine) takeSnapshot(f *wire.TakeSnapshot) {
	c := e.findCollection(f.Collection)
	switch {
	case c == nil:
		e.replyError(f.Request, api.NotFound("the collection is not open"))
		return
	case e.findSnapshot(f.Request) != nil:
		e.replyError(f.Request, api.BadRequest("a snapshot with this number already exists"))
		return
	case !c.shared.cacher.Ready():
		e.replyError(f.Request, api.Unavailable("the collection has no state yet that could be stored"))
		return
	case !c.shared.reflector.Bodies().Complete():
		e.replyError(f.Request, api.Unavailable("the collection lacks bodies: take the snapshot when all have arrived"))
		return
	}
	reader, status := session.NewSnapshotReader(c.shared.serve(), f.ResourceVersion, f.ClusterID)
	if status != nil {
		e.replyError(f.Request, status)
		return
	}
	writer := persist.NewWriter(reader, c.shared.scope, c.shared.cacher.Upstream().ClusterID(), f.ChunkBytes)
	e.snapshots = append(e.snapshots, &openSnapshot{request: f.Request, collection: c, writer: writer, wanted: true})
}

func (e *Engine) nextChunk(f *wire.NextChunk) {
	x := e.findSnapshot(f.Request)
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

func (e *Engine) findSnapshot(request uint32) *openSnapshot {
	for _, x := range e.snapshots {
		if x.request == request {
			return x
		}
	}
	return nil
}

func (x *openSnapshot) close(e *Engine) {
	x.writer.Close()
	e.snapshots = lite.Remove(e.snapshots, x)
}

func (x *openSnapshot) fail(e *Engine, status *api.Status) {
	e.replyError(x.request, status)
	x.close(e)
}

// report sends the next chunk if the program has requested it.
func (x *openSnapshot) report(e *Engine) {
	if !x.wanted {
		return
	}
	x.wanted = false
	reply, status := x.writer.Next(e.outside(x.collection.shared.reflector.State().LastProgressMillis))
	if status != nil {
		x.fail(e, status)
		return
	}
	reply.Request = x.request
	if reply.Last {
		x.close(e)
	}
	e.out = reply.Append(e.out)
}
