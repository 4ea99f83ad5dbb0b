package core

import (
	"github.com/watchglass/watchglass/core/wire"
)

// apply executes a frame of the program.
func (e *Engine) apply(f wire.Frame) {
	switch f := f.(type) {
	case *wire.OpenCollection:
		e.openCollection(f)
	case *wire.CloseCollection:
		e.closeCollection(f)
	case *wire.OpenWatch:
		e.openWatch(f)
	case *wire.GrantWatch:
		e.grantWatch(f)
	case *wire.CloseWatch:
		e.closeWatch(f)
	case *wire.Get:
		e.get(f)
	case *wire.List:
		e.list(f)
	case *wire.OpenView:
		e.openView(f)
	case *wire.GrantView:
		e.grantView(f)
	case *wire.MoveView:
		e.moveView(f)
	case *wire.CloseView:
		e.closeView(f)
	case *wire.AcquireObject:
		e.acquireObject(f)
	case *wire.ReleaseObject:
		e.releaseObject(f)
	case *wire.GetObject:
		e.getObject(f)
	case *wire.Inspect:
		e.inspect(f)
	case *wire.TakeSnapshot:
		e.takeSnapshot(f)
	case *wire.NextChunk:
		e.nextChunk(f)
	case *wire.RestoreChunk:
		e.restoreChunk(f)
	case *wire.AttachReader:
		e.attachReader(f)
	case *wire.ReaderMessage:
		e.readerMessage(f)
	case *wire.GrantReader:
		e.grantReader(f)
	case *wire.DetachReader:
		e.detachReader(f)
	case *wire.SaveReader:
		e.saveReader(f)
	case *wire.StreamOpened:
		e.streamOpened(f)
	case *wire.StreamData:
		e.streamData(f)
	case *wire.StreamClosed:
		e.streamClosed(f)
	case *wire.Fetched:
		e.fetched(f)
	case *wire.Reconnect:
		e.reconnect(f)
	}
}
