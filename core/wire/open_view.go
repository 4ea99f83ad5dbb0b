package wire

// OpenView opens a live window: filtered, sorted, and updated by [ViewPatch].
// Opening an open view replaces its query.
type OpenView struct {
	View          uint32
	Collection    uint32
	Namespace     string
	LabelSelector string
	FieldSelector string
	Search        string // as query.ParseSearch parses it; "" for all objects
	Where         string // as query.ParseWhere parses it; "" for all objects
	Sort          string // as query.ParseSort parses it; "" for key order
	Offset        uint32
	Limit         uint32 // at most MaxViewRows
	CountBy       string // a field or column to count rows by; "" for none
}

// Append writes the whole frame.
func (f *OpenView) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeOpenView)
	dst = appendUvarint(dst, uint64(f.View))
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Namespace)
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendBytes(dst, f.Search)
	dst = appendBytes(dst, f.Where)
	dst = appendBytes(dst, f.Sort)
	dst = appendUvarint(dst, uint64(f.Offset))
	dst = appendUvarint(dst, uint64(f.Limit))
	dst = appendBytes(dst, f.CountBy)
	return end(dst, start)
}

// Parse reads the payload.
func (f *OpenView) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	f.Collection = r.uint32()
	f.Namespace = r.string()
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.Search = r.string()
	f.Where = r.string()
	f.Sort = r.string()
	f.Offset = r.uint32()
	f.Limit = r.uint32()
	f.CountBy = r.string()
	return r.done("OpenView")
}
