package wire

import "github.com/watchglass/watchglass/core/api"

// WatchEnd is the reason why a watch ended. Every end that a consumer can observe
// has one.
type WatchEnd uint8

// The reasons. An engine reports all except the first three; the clients that
// embed it report those.
const (
	// WatchEndClosed: the consumer closed the watch.
	WatchEndClosed WatchEnd = iota
	// WatchEndCollectionClosed: the collection, or the client, was closed.
	WatchEndCollectionClosed
	// WatchEndEngineReplaced: the engine failed, and the one that replaced it
	// cannot continue the watch.
	WatchEndEngineReplaced
	// WatchEndTimeout: the watch's TimeoutSeconds have passed.
	WatchEndTimeout
	// WatchEndRefused: the watch did not start; the status is that of the
	// request.
	WatchEndRefused
	// WatchEndSlowConsumer: under [PolicyTerminate], the queue was full for
	// longer than dispatch waits.
	WatchEndSlowConsumer
	// WatchEndOvertaken: the history no longer has the next event of the watch,
	// or a second relist came before its consumer took the first.
	WatchEndOvertaken
	// WatchEndHistoryLost: the resource version of the watch belongs to a history
	// that the source has lost, or to another source.
	WatchEndHistoryLost
	// WatchEndCorrupt: the restored state of the collection is corrupt.
	WatchEndCorrupt
)

var watchEndNames = [...]string{
	"Closed", "CollectionClosed", "EngineReplaced", "Timeout", "Refused",
	"SlowConsumer", "Overtaken", "HistoryLost", "Corrupt",
}

// String returns the name, which is also the Cause of the status.
func (e WatchEnd) String() string {
	if int(e) < len(watchEndNames) {
		return watchEndNames[e]
	}
	return ""
}

// Expired returns the 410 of a watch that ended for this reason.
func (e WatchEnd) Expired(message string) *api.Status {
	status := api.Expired(message)
	status.Cause = e.String()
	return status
}

// WatchClosed is the end of a watch, after all of its events.
type WatchClosed struct {
	Watch  uint32
	End    WatchEnd
	Status *api.Status // nil for WatchEndTimeout
}

// Append writes the whole frame.
func (f *WatchClosed) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeWatchClosed)
	dst = appendUvarint(dst, uint64(f.Watch))
	dst = append(dst, byte(f.End))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse reads the payload.
func (f *WatchClosed) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Watch = r.uint32()
	f.End = WatchEnd(r.enum(byte(WatchEndCorrupt)))
	f.Status = r.status()
	return r.done("WatchClosed")
}
