package wire

// OpenView opens a live window over a filtered and sorted collection. [ViewPatch] keeps
// the program's copy of the window current. An OpenView for a view that is already open
// replaces the query.
type OpenView struct {
	View          uint32
	Collection    uint32
	Namespaces    []string // empty for all
	LabelSelector string
	FieldSelector string
	Search        string // as query.ParseSearch parses it; "" for all objects
	Where         string // as query.ParseWhere parses it; "" for all objects
	OwnedBy       string // the UID of the owner; "" for all objects
	// Recursive also selects the objects that the owner owns indirectly, through
	// objects in any collection of the engine.
	Recursive bool
	Sort      string // as query.ParseSort parses it; "" for key order
	Offset    uint32
	Limit     uint32 // at most MaxViewRows
	// Anchor is the key of an object. The window stays at the position that the object has
	// in the sort order when the view opens, even if the object changes later. If Anchor is
	// "" or the object does not exist, the window starts at Offset.
	Anchor string
	Before uint32 // rows of the window above the anchor
	Facets []Facet
}

// Facet requests the number of rows for each value of a column, field or label, or for
// each pair of values.
type Facet struct {
	By    string // a column, field or label, as query.Resolve resolves it
	Then  string // the column, field or label of the second value of a pair; "" for none
	Limit uint32 // maximum number of values, at most MaxFacetValues; zero means 100
	// Width groups numbers into intervals of this width. The value of a group is the start
	// of its interval. Zero counts each distinct number separately.
	Width uint64
	// RowsOnly counts only the rows of the view. Otherwise a facet without Then ignores
	// the conditions of the view that refer only to By.
	RowsOnly   bool
	Aggregates []string // columns, fields or labels with numbers to summarize per value
}

const minFacet = 6

// MaxFacetValues is the maximum number of values of a facet.
const MaxFacetValues = 1000

// Append appends the frame to dst.
func (f *OpenView) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeOpenView)
	dst = appendUvarint(dst, uint64(f.View))
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendUvarint(dst, uint64(len(f.Namespaces)))
	for _, name := range f.Namespaces {
		dst = appendBytes(dst, name)
	}
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendBytes(dst, f.Search)
	dst = appendBytes(dst, f.Where)
	dst = appendBool(appendBytes(dst, f.OwnedBy), f.Recursive)
	dst = appendBytes(dst, f.Sort)
	dst = appendUvarint(dst, uint64(f.Offset))
	dst = appendUvarint(dst, uint64(f.Limit))
	dst = appendUvarint(appendBytes(dst, f.Anchor), uint64(f.Before))
	dst = appendUvarint(dst, uint64(len(f.Facets)))
	for i := range f.Facets {
		facet := &f.Facets[i]
		dst = appendBytes(appendBytes(dst, facet.By), facet.Then)
		dst = appendUvarint(appendUvarint(dst, uint64(facet.Limit)), facet.Width)
		dst = appendBool(dst, facet.RowsOnly)
		dst = appendUvarint(dst, uint64(len(facet.Aggregates)))
		for _, name := range facet.Aggregates {
			dst = appendBytes(dst, name)
		}
	}
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *OpenView) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	f.Collection = r.uint32()
	f.Namespaces = grow(f.Namespaces, r.count(1))
	for i := range f.Namespaces {
		f.Namespaces[i] = r.string()
	}
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.Search = r.string()
	f.Where = r.string()
	f.OwnedBy, f.Recursive = r.string(), r.bool()
	f.Sort = r.string()
	f.Offset = r.uint32()
	f.Limit = r.uint32()
	f.Anchor, f.Before = r.string(), r.uint32()
	f.Facets = grow(f.Facets, r.count(minFacet))
	for i := range f.Facets {
		facet := &f.Facets[i]
		facet.By, facet.Then = r.string(), r.string()
		facet.Limit, facet.Width, facet.RowsOnly = r.uint32(), r.uvarint(), r.bool()
		facet.Aggregates = grow(facet.Aggregates, r.count(1))
		for j := range facet.Aggregates {
			facet.Aggregates[j] = r.string()
		}
	}
	return r.done("OpenView")
}
