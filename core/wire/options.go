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

// Policy says what happens to a watch whose consumer is slow.
type Policy uint8

const (
	// PolicyTerminate ends the watch when its queue stays full, as Kubernetes
	// does; the consumer resumes from its last resource version.
	PolicyTerminate Policy = iota
	// PolicyConflate keeps the newest state per object, in order, so that the
	// consumer converges with bounded memory.
	PolicyConflate
	// PolicyStall keeps a position in the history: the watch pauses and goes on
	// from there. It ends when the history no longer has the event at that
	// position.
	PolicyStall
)

// MaxViewRows is the largest window a view can have.
const MaxViewRows = 10_000

// Object is what a [Rejected] frame speaks of.
type Object uint8

// The things that can be rejected.
const (
	ObjectCollection Object = iota
	ObjectWatch
	ObjectView
	ObjectHandle  // of an acquired object
	ObjectRestore // what was kept of a collection; the collection goes on without
	ObjectReader  // that was to be attached
)

// State says how current a collection is.
type State uint8

// The states of a collection. Whatever the state, the data that is there stays
// visible.
const (
	Connecting   State = iota // no connection yet, and no data
	Syncing                   // a snapshot is under way
	Live                      // up to date as of the last progress
	Reconnecting              // the connection is lost, and it is being retried
	Stale                     // nothing heard for three progress periods
	Forbidden                 // the connector refuses; retried slowly
	Closed                    // ended for good; the status says why
)

var stateNames = [...]string{"connecting", "syncing", "live", "reconnecting", "stale", "forbidden", "closed"}

// String is the state in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return ""
}

// enum reads a byte that is at most last.
func (r *reader) enum(last byte) byte {
	v := r.byte()
	if v > last {
		r.fail("unknown option value")
		return 0
	}
	return v
}
