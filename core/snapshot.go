package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/persist"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// export is a snapshot that the program is requesting, chunk by chunk.
type export struct {
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
	case e.findExport(f.Request) != nil:
		e.replyError(f.Request, api.BadRequest("a snapshot with this number already exists"))
		return
	case !c.shared.cacher.Ready() || !c.shared.reflector.Bodies().Complete():
		e.replyError(f.Request, api.Unavailable("the collection has no state yet that could be stored"))
		return
	}
	reader, status := session.NewSnapshotReader(c.shared.serve(), f.ResourceVersion, f.Source)
	if status != nil {
		e.replyError(f.Request, status)
		return
	}
	writer := persist.NewWriter(reader, c.shared.scope, c.shared.cacher.Upstream().Source(), f.ChunkBytes)
	e.exports = append(e.exports, &export{request: f.Request, collection: c, writer: writer, wanted: true})
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
	x.writer.Close()
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
