package api

// EventType says what a watch event means. The names are those of the
// Kubernetes watch protocol (rule P2).
type EventType uint8

// The five kinds of watch event. The numbers are on the wire; do not reorder.
const (
	Added EventType = 1 + iota
	Modified
	Deleted
	Bookmark
	Error
)

var eventTypeNames = [...]string{"", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}

// String is the name on the Kubernetes wire.
func (t EventType) String() string {
	if int(t) < len(eventTypeNames) {
		return eventTypeNames[t]
	}
	return ""
}

// IsChange reports whether the event carries an object's change.
func (t EventType) IsChange() bool { return t >= Added && t <= Deleted }
