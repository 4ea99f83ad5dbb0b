package wire

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
	// does. The consumer resumes from its last resource version.
	PolicyTerminate Policy = iota
	// PolicyConflate keeps the newest state per object, in order. The consumer
	// converges with bounded memory.
	PolicyConflate
	// PolicyStall keeps a position in the history. The watch pauses and continues
	// from there. It ends when the event at that position leaves the history.
	PolicyStall
)

// MaxViewRows is the largest window a view can have.
const MaxViewRows = 10_000

// Object is the type of object that a [Rejected] frame refers to.
type Object uint8

// The types of objects that can be rejected.
const (
	ObjectCollection Object = iota
	ObjectWatch
	ObjectView
	ObjectHandle  // an acquired object
	ObjectRestore // the persisted state of a collection; the collection continues without it
	ObjectReader  // a reader to be attached
)

// State describes how current a collection is.
type State uint8

// The states of a collection. Its data stays readable in every state.
const (
	Connecting   State = iota // not connected, without data
	Syncing                   // receiving a snapshot
	Live                      // up to date as of the last progress
	Reconnecting              // disconnected and retrying
	Stale                     // no progress for three periods
	Forbidden                 // the connector denies access; retried slowly
	Closed                    // ended permanently; the status is the reason
)

var stateNames = [...]string{"connecting", "syncing", "live", "reconnecting", "stale", "forbidden", "closed"}

// String returns the state in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return ""
}

// enum reads a byte and rejects values above last.
func (r *reader) enum(last byte) byte {
	v := r.byte()
	if v > last {
		r.fail("unknown option value")
		return 0
	}
	return v
}
