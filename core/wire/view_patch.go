package wire

import "github.com/watchglass/watchglass/core/api"

// ViewPatch updates the program's copy of a view's window. After each patch, the engine
// waits for a [GrantView] before it sends the next one.
type ViewPatch struct {
	View            uint32
	ResourceVersion api.ResourceVersion // version of the view until the next patch
	Total           uint64              // matching rows, inside and outside the window
	Offset          uint32              // index of the first row in the window
	Facets          []FacetCounts       // in the order of the facets of the view
	// Reset indicates that the edits apply to an empty window.
	Reset bool
	Edits []Edit
}

// FacetCounts contains the most frequent values of a facet, sorted by value. OtherValues
// is the number of remaining values, and OtherRows the number of rows with one of these.
type FacetCounts struct {
	Values                 []Count
	OtherValues, OtherRows uint64
}

const minFacetCounts = 3

// Count is the number of rows of a view with a value, or with a pair of values.
type Count struct {
	Value      string
	Then       string // the second value of a pair
	Rows       uint64
	Aggregates []Aggregate // in the order of Facet.Aggregates
}

const minCount = 4

// Aggregate summarizes a numeric value over some rows. Sum, Min and Max are zero if no
// row contains a number.
type Aggregate struct {
	Values        uint64 // rows that have a number
	Sum, Min, Max float64
}

const minAggregate = 25

// Edit is one edit of the rows of a window. Edits apply from top to bottom. Each skips Keep
// rows, removes the next Remove rows, and inserts the rows of Insert. A changed row is
// removed and inserted again. Rows after the last edit are unchanged.
type Edit struct {
	Keep, Remove uint32
	Insert       []Item // without bodies
}

const minEdit = 3

// Append appends the frame to dst.
func (f *ViewPatch) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeViewPatch)
	dst = appendUvarint(dst, uint64(f.View))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendUvarint(dst, f.Total)
	dst = appendUvarint(dst, uint64(f.Offset))
	dst = appendUvarint(dst, uint64(len(f.Facets)))
	for i := range f.Facets {
		facet := &f.Facets[i]
		dst = appendUvarint(dst, uint64(len(facet.Values)))
		for _, c := range facet.Values {
			dst = appendUvarint(appendBytes(appendBytes(dst, c.Value), c.Then), c.Rows)
			dst = appendUvarint(dst, uint64(len(c.Aggregates)))
			for _, a := range c.Aggregates {
				dst = appendFloat(appendFloat(appendFloat(appendUvarint(dst, a.Values), a.Sum), a.Min), a.Max)
			}
		}
		dst = appendUvarint(appendUvarint(dst, facet.OtherValues), facet.OtherRows)
	}
	dst = appendBool(dst, f.Reset)
	dst = appendUvarint(dst, uint64(len(f.Edits)))
	for i := range f.Edits {
		e := &f.Edits[i]
		dst = appendUvarint(appendUvarint(dst, uint64(e.Keep)), uint64(e.Remove))
		dst = appendUvarint(dst, uint64(len(e.Insert)))
		for j := range e.Insert {
			dst = appendItem(dst, &e.Insert[j])
		}
	}
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ViewPatch) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	f.ResourceVersion = r.rv()
	f.Total = r.uvarint()
	f.Offset = r.uint32()
	f.Facets = grow(f.Facets, r.count(minFacetCounts))
	for i := range f.Facets {
		facet := &f.Facets[i]
		facet.Values = grow(facet.Values, r.count(minCount))
		for j := range facet.Values {
			c := &facet.Values[j]
			c.Value, c.Then, c.Rows = r.string(), r.string(), r.uvarint()
			c.Aggregates = grow(c.Aggregates, r.count(minAggregate))
			for k := range c.Aggregates {
				a := &c.Aggregates[k]
				a.Values, a.Sum, a.Min, a.Max = r.uvarint(), r.float(), r.float(), r.float()
			}
		}
		facet.OtherValues, facet.OtherRows = r.uvarint(), r.uvarint()
	}
	f.Reset = r.bool()
	f.Edits = grow(f.Edits, r.count(minEdit))
	for i := range f.Edits {
		e := &f.Edits[i]
		e.Keep, e.Remove = r.uint32(), r.uint32()
		e.Insert = grow(e.Insert, r.count(minItem))
		for j := range e.Insert {
			r.item(&e.Insert[j])
		}
	}
	return r.done("ViewPatch")
}
