package api

// EventType is the type of a watch event, as in the Kubernetes watch protocol
// (rule P2).
type EventType uint8

// The five event types. The numbers are part of the wire format; do not reorder
// them.
const (
	Added EventType = 1 + iota
	Modified
	Deleted
	Bookmark
	Error
)

var eventTypeNames = [...]string{"", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}

// String returns the name used in Kubernetes watch JSON.
func (t EventType) String() string {
	if int(t) < len(eventTypeNames) {
		return eventTypeNames[t]
	}
	return ""
}

// IsChange reports whether the event describes a change to an object.
func (t EventType) IsChange() bool { return t >= Added && t <= Deleted }
