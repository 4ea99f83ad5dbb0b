package wire

import "github.com/watchglass/watchglass/core/api"

// OpenWatch starts a watch on a collection, with the options and semantics of
// Kubernetes (rules C8 to C16).
type OpenWatch struct {
	Watch             uint32
	Collection        uint32
	Namespace         string
	LabelSelector     string
	FieldSelector     string
	ResourceVersion   string // as in a Kubernetes watch request
	Match             api.Match
	SendInitialEvents api.Tristate
	Bookmarks         bool       // allowWatchBookmarks
	TimeoutSeconds    uint32     // zero for none
	Bodies            bool       // deliver the objects' JSON, decoded
	Policy            api.Policy // what happens if the consumer is slow
	Credit            uint32     // events that the consumer accepts before it grants more; zero for no limit
	Previous          bool       // MODIFIED events also contain the version before the change
}

// Append appends the frame to dst.
func (f *OpenWatch) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeOpenWatch)
	dst = appendUvarint(dst, uint64(f.Watch))
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Namespace)
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendBytes(dst, f.ResourceVersion)
	dst = append(dst, byte(f.Match))
	dst = append(dst, byte(f.SendInitialEvents))
	dst = appendBool(dst, f.Bookmarks)
	dst = appendUvarint(dst, uint64(f.TimeoutSeconds))
	dst = appendBool(dst, f.Bodies)
	dst = append(dst, byte(f.Policy))
	dst = appendUvarint(dst, uint64(f.Credit))
	dst = appendBool(dst, f.Previous)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *OpenWatch) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Watch = r.uint32()
	f.Collection = r.uint32()
	f.Namespace = r.string()
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.ResourceVersion = r.string()
	f.Match = api.Match(r.enum(byte(api.MatchExact)))
	f.SendInitialEvents = api.Tristate(r.enum(byte(api.True)))
	f.Bookmarks = r.bool()
	f.TimeoutSeconds = r.uint32()
	f.Bodies = r.bool()
	f.Policy = api.Policy(r.enum(byte(api.PolicyStall)))
	f.Credit = r.uint32()
	f.Previous = r.bool()
	return r.done("OpenWatch")
}
