package wire

import "github.com/watchglass/watchglass/core/api"

// Schema describes the objects of a subscription and precedes them.
type Schema struct {
	Subscription uint32
	Schema       api.Schema
	Dictionary   uint32 // the dictionary of the bodies; zero for none
	// ClusterID identifies the history that resource versions belong to, such as an
	// etcd cluster. Versions with different IDs are not comparable.
	ClusterID string
	// DeltaEpoch identifies the assignment of bases: two subscriptions with the same
	// value have the same base for every version of every object. Zero means that no
	// other subscription is known to have the same assignment.
	DeltaEpoch uint64
}

// Append appends the frame to dst.
func (f *Schema) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSchema)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendSchema(dst, &f.Schema)
	dst = appendUvarint(dst, uint64(f.Dictionary))
	dst = appendBytes(dst, f.ClusterID)
	dst = appendUvarint(dst, f.DeltaEpoch)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Schema) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	r.schema(&f.Schema)
	f.Dictionary = r.uint32()
	f.ClusterID = string(r.bytes()) // a schema outlives the frame
	f.DeltaEpoch = r.uvarint()
	return r.done("Schema")
}

func appendSchema(dst []byte, s *api.Schema) []byte {
	dst = appendBytes(dst, s.Resource.Group)
	dst = appendBytes(dst, s.Resource.Version)
	dst = appendBytes(dst, s.Resource.Name)
	dst = appendBytes(dst, s.Kind)
	dst = appendBool(dst, s.Namespaced)
	dst = appendUvarint(dst, uint64(len(s.Fields)))
	for _, f := range s.Fields {
		dst = appendBytes(dst, f)
	}
	return appendColumns(dst, s.Columns)
}

//go:noinline
func appendColumns(dst []byte, columns []api.Column) []byte {
	dst = appendUvarint(dst, uint64(len(columns)))
	for _, c := range columns {
		dst = appendBytes(dst, c.Name)
		dst = append(dst, byte(c.Kind))
		dst = appendBytes(dst, c.Path)
		dst = append(dst, c.Priority)
		dst = appendBytes(dst, c.Printer)
		dst = appendBytes(dst, c.Default)
	}
	return dst
}

// schema reads a schema. It copies the strings, because a schema outlives the frame.
func (r *reader) schema(s *api.Schema) {
	text := func() string { return string(r.bytes()) }
	s.Resource = api.Resource{Group: text(), Version: text(), Name: text()}
	s.Kind = text()
	s.Namespaced = r.bool()
	s.Fields = make([]string, r.count(1))
	for i := range s.Fields {
		s.Fields[i] = text()
	}
	s.Columns = r.columns()
}

// columns reads columns, and copies the strings as schema does.
func (r *reader) columns() []api.Column {
	columns := make([]api.Column, r.count(6))
	for i := range columns {
		columns[i] = api.Column{
			Name: string(r.bytes()), Kind: api.ValueKind(r.enum(byte(api.Duration))), Path: string(r.bytes()), Priority: r.byte(),
			Printer: string(r.bytes()), Default: string(r.bytes()),
		}
	}
	return columns
}
