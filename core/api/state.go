package api

// State describes how current a collection is.
type State uint8

// The states of a collection. Its data stays readable in every state.
const (
	StateConnecting   State = iota // not connected, without data
	StateSyncing                   // receiving a snapshot
	StateLive                      // up to date as of the last progress
	StateReconnecting              // disconnected and retrying
	StateStale                     // no progress for three periods
	StateForbidden                 // access is denied; the next attempt follows after 30 s
	StateClosed                    // ended permanently; the status is the reason
)

var stateNames = [...]string{"connecting", "syncing", "live", "reconnecting", "stale", "forbidden", "closed"}

// String returns the state in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return ""
}
