package core

import (
	"github.com/watchglass/watchglass/core/wire"
)

// decodeCommand parses a frame and, if e is not nil, applies it.
func decodeCommand(t wire.Type, payload []byte, e *Engine) error {
	switch t {
	case wire.TypeOpenCollection:
		return command(e, payload, &wire.OpenCollection{}, (*Engine).openCollection)
	case wire.TypeCloseCollection:
		return command(e, payload, &wire.CloseCollection{}, (*Engine).closeCollection)
	case wire.TypeOpenWatch:
		return command(e, payload, &wire.OpenWatch{}, (*Engine).openWatch)
	case wire.TypeGrantWatch:
		return command(e, payload, &wire.GrantWatch{}, (*Engine).grantWatch)
	case wire.TypeCloseWatch:
		return command(e, payload, &wire.CloseWatch{}, (*Engine).closeWatch)
	case wire.TypeGet:
		return command(e, payload, &wire.Get{}, (*Engine).get)
	case wire.TypeList:
		return command(e, payload, &wire.List{}, (*Engine).list)
	case wire.TypeOpenView:
		return command(e, payload, &wire.OpenView{}, (*Engine).openView)
	case wire.TypeGrantView:
		return command(e, payload, &wire.GrantView{}, (*Engine).grantView)
	case wire.TypeMoveView:
		return command(e, payload, &wire.MoveView{}, (*Engine).moveView)
	case wire.TypeCloseView:
		return command(e, payload, &wire.CloseView{}, (*Engine).closeView)
	case wire.TypeAcquireObject:
		return command(e, payload, &wire.AcquireObject{}, (*Engine).acquireObject)
	case wire.TypeReleaseObject:
		return command(e, payload, &wire.ReleaseObject{}, (*Engine).releaseObject)
	case wire.TypeGetObject:
		return command(e, payload, &wire.GetObject{}, (*Engine).getObject)
	case wire.TypeInspect:
		return command(e, payload, &wire.Inspect{}, (*Engine).inspect)
	case wire.TypeTakeSnapshot:
		return command(e, payload, &wire.TakeSnapshot{}, (*Engine).takeSnapshot)
	case wire.TypeNextChunk:
		return command(e, payload, &wire.NextChunk{}, (*Engine).nextChunk)
	case wire.TypeRestoreChunk:
		return command(e, payload, &wire.RestoreChunk{}, (*Engine).restoreChunk)
	case wire.TypeAttachReader:
		return command(e, payload, &wire.AttachReader{}, (*Engine).attachReader)
	case wire.TypeReaderMessage:
		return command(e, payload, &wire.ReaderMessage{}, (*Engine).readerMessage)
	case wire.TypeGrantReader:
		return command(e, payload, &wire.GrantReader{}, (*Engine).grantReader)
	case wire.TypeDetachReader:
		return command(e, payload, &wire.DetachReader{}, (*Engine).detachReader)
	case wire.TypeKeepReader:
		return command(e, payload, &wire.KeepReader{}, (*Engine).keepReader)
	case wire.TypeStreamOpened:
		return command(e, payload, &wire.StreamOpened{}, (*Engine).streamOpened)
	case wire.TypeStreamData:
		return command(e, payload, &wire.StreamData{}, (*Engine).streamData)
	case wire.TypeStreamClosed:
		return command(e, payload, &wire.StreamClosed{}, (*Engine).streamClosed)
	case wire.TypeFetched:
		return command(e, payload, &wire.Fetched{}, (*Engine).fetched)
	case wire.TypeReconnect:
		return command(e, payload, &wire.Reconnect{}, (*Engine).reconnect)
	}
	if t >= wire.Optional {
		return nil
	}
	return wire.Unknown(t)
}

func command[F interface{ Parse([]byte) error }](e *Engine, payload []byte, frame F, handle func(*Engine, F)) error {
	if err := frame.Parse(payload); err != nil || e == nil {
		return err
	}
	handle(e, frame)
	return nil
}
