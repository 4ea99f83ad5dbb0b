package wire

import "github.com/watchglass/watchglass/core/api"

// WatchEvent is one event of a watch. A bookmark contains only a resource version and
// flags; every other event contains an item.
type WatchEvent struct {
	Type api.EventType
	Item Item
	// Previous is the version before the change, for a MODIFIED event of a watch that
	// requests it.
	Previous *Item
}

// withPrevious is added to the type of an event that has a previous version.
const withPrevious = 0x80

// WatchEvents delivers events of a watch in order. The status of [WatchClosed]
// replaces the ERROR event of Kubernetes.
type WatchEvents struct {
	Watch  uint32
	Events []WatchEvent
}

// Append appends the frame to dst.
func (f *WatchEvents) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeWatchEvents)
	dst = appendUvarint(dst, uint64(f.Watch))
	dst = appendUvarint(dst, uint64(len(f.Events)))
	for i := range f.Events {
		dst = appendWatchEvent(dst, &f.Events[i])
	}
	return end(dst, start)
}

func appendWatchEvent(dst []byte, e *WatchEvent) []byte {
	dst = append(dst, byte(e.Type))
	if e.Type == api.Bookmark {
		dst = appendUvarint(dst, uint64(e.Item.ResourceVersion))
		return append(dst, byte(e.Item.Flags))
	}
	if e.Previous != nil {
		dst[len(dst)-1] |= withPrevious
		dst = appendItem(dst, e.Previous)
	}
	return appendItem(dst, &e.Item)
}

// Parse sets the fields from a payload.
func (f *WatchEvents) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Watch = r.uint32()
	f.Events = grow(f.Events, r.count(3))
	for i := range f.Events {
		r.watchEvent(&f.Events[i])
	}
	return r.done("WatchEvents")
}

func (r *reader) watchEvent(e *WatchEvent) {
	*e = WatchEvent{Type: api.EventType(r.byte())}
	if e.Type == api.Modified|withPrevious {
		e.Type, e.Previous = api.Modified, &Item{}
		r.item(e.Previous)
	}
	switch e.Type {
	case api.Added, api.Modified, api.Deleted:
		r.item(&e.Item)
	case api.Bookmark:
		e.Item = Item{ResourceVersion: r.rv(), Flags: api.Flags(r.byte())}
	default:
		r.fail("unknown event type")
	}
}
