package wire

import "github.com/watchglass/watchglass/core/api"

// List requests the objects of a collection in ascending key order. The response
// is [ListReply] or [ErrorReply].
type List struct {
	Request         uint32
	Collection      uint32
	Namespace       string
	LabelSelector   string
	FieldSelector   string
	ResourceVersion string
	Match           api.Match
	Limit           uint32 // zero means all
	Continue        string
	Bodies          bool
}

// Append appends the frame to dst.
func (f *List) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeList)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Namespace)
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendBytes(dst, f.ResourceVersion)
	dst = append(dst, byte(f.Match))
	dst = appendUvarint(dst, uint64(f.Limit))
	dst = appendBytes(dst, f.Continue)
	dst = appendBool(dst, f.Bodies)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *List) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Collection = r.uint32()
	f.Namespace = r.string()
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.ResourceVersion = r.string()
	f.Match = api.Match(r.enum(byte(api.MatchExact)))
	f.Limit = r.uint32()
	f.Continue = r.string()
	f.Bodies = r.bool()
	return r.done("List")
}
