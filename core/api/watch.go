package api

// Match is the resourceVersionMatch of a list or watch.
type Match uint8

// The values of resourceVersionMatch; MatchUnset is the empty string.
const (
	MatchUnset Match = iota
	MatchNotOlderThan
	MatchExact
)

// Tristate is an optional boolean.
type Tristate uint8

// The values of an optional boolean.
const (
	Unset Tristate = iota
	False
	True
)

// Policy determines what happens to a watch with a slow consumer.
type Policy uint8

const (
	// PolicyTerminate ends the watch when its queue stays full, as Kubernetes
	// does. The consumer resumes from its last resource version. The watch also ends,
	// with a 410, if a relist finds that one of its objects was deleted.
	PolicyTerminate Policy = iota
	// PolicyConflate keeps only the newest state of each object, in order. The consumer
	// eventually reaches the current state, and the queue is bounded.
	PolicyConflate
	// PolicyStall keeps a position in the history. The watch pauses while its consumer
	// accepts no events, and then continues from that position. The watch ends if the
	// history evicts the event at that position.
	PolicyStall
)

// WatchEnd is the reason why a watch ended. Every end that a consumer can observe has
// a reason.
type WatchEnd uint8

// Clients that embed an engine report the first three reasons. The engine reports all
// others.
const (
	// WatchEndClosed means that the consumer closed the watch.
	WatchEndClosed WatchEnd = iota
	// WatchEndCollectionClosed means that the collection or the client was closed.
	WatchEndCollectionClosed
	// WatchEndEngineReplaced means that the engine failed, and the engine that replaced
	// it cannot continue the watch.
	WatchEndEngineReplaced
	// WatchEndTimeout means that the watch's TimeoutSeconds have passed.
	WatchEndTimeout
	// WatchEndRefused means that the request was refused, so the watch did not start.
	WatchEndRefused
	// WatchEndSlowConsumer means that, under [PolicyTerminate], the queue was full for
	// longer than dispatch waits.
	WatchEndSlowConsumer
	// WatchEndOvertaken means that the history no longer has the next event of the
	// watch. Other causes are a second relist before the consumer has read the changes of
	// the first, and, under [PolicyTerminate], a deletion that a relist found.
	WatchEndOvertaken
	// WatchEndHistoryLost means that the resource version of the watch belongs to a
	// history that the source has lost, or to another source.
	WatchEndHistoryLost
	// WatchEndCorrupt means that the collection has corrupt bodies, or that its restored
	// state is corrupt.
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

// Expired returns a 410 for a watch that ended for this reason, with the reason as
// Cause.
//
//go:noinline
func (e WatchEnd) Expired(message string) *Status {
	status := Expired(message)
	status.Cause = e.String()
	return status
}
