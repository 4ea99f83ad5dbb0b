package wire

import "github.com/watchglass/watchglass/core/api"

// OpenCollection makes a resource, or a part of it, present. Collections of
// equal scope share one store and one subscription.
//
// With Restore it waits for [RestoreChunk] frames before it follows its connector,
// of which one must have End.
type OpenCollection struct {
	Collection    uint32 // chosen by the program, as all ids in commands
	Resource      string // "v1/pods"
	Namespace     string // empty for all
	LabelSelector string
	FieldSelector string
	MetadataOnly  bool // no bodies
	Restore       bool // the state that the program kept comes next
	// Columns are those of the objects, where the engine reads Kubernetes itself;
	// none stand for the usual ones. A connector has its own.
	Columns []api.Column
}

// Append writes the whole frame.
func (f *OpenCollection) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeOpenCollection)
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Resource)
	dst = appendBytes(dst, f.Namespace)
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendBool(dst, f.MetadataOnly)
	dst = appendBool(dst, f.Restore)
	dst = appendColumns(dst, f.Columns)
	return end(dst, start)
}

// Parse reads the payload.
func (f *OpenCollection) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Collection = r.uint32()
	f.Resource = r.string()
	f.Namespace = r.string()
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.MetadataOnly = r.bool()
	f.Restore = r.bool()
	f.Columns = r.columns()
	return r.done("OpenCollection")
}
