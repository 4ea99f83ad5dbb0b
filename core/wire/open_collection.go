package wire

import "github.com/watchglass/watchglass/core/api"

// OpenCollection opens a collection: a resource or a part of it. Collections with the
// same scope share one store and one subscription.
//
// With Restore, the collection waits for [RestoreChunk] frames before it connects. The
// last RestoreChunk sets End.
type OpenCollection struct {
	Collection    uint32 // chosen by the program, like all IDs in commands
	Resource      string // such as "v1/pods"
	Namespace     string // "" means all
	LabelSelector string
	FieldSelector string
	MetadataOnly  bool // omit bodies
	RowsFirst     bool // receive all rows before the bodies
	Restore       bool // RestoreChunk frames follow
	// Columns replaces the default columns, unless it is empty. A connector computes only
	// columns without printers. If the printer of a column belongs to package join, the
	// engine computes the values from other collections, and only views show the column.
	Columns []api.Column
}

// Append appends the frame to dst.
func (f *OpenCollection) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeOpenCollection)
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Resource)
	dst = appendBytes(dst, f.Namespace)
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendBool(dst, f.MetadataOnly)
	dst = appendBool(dst, f.RowsFirst)
	dst = appendBool(dst, f.Restore)
	dst = appendColumns(dst, f.Columns)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *OpenCollection) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Collection = r.uint32()
	f.Resource = r.string()
	f.Namespace = r.string()
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.MetadataOnly = r.bool()
	f.RowsFirst = r.bool()
	f.Restore = r.bool()
	f.Columns = r.columns()
	return r.done("OpenCollection")
}
