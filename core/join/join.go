package join

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
)

// Printer is the printer name of columns that show a column of another resource, for the
// object with the same key. The path of such a column is the other resource, a space, and
// the name of a column of that resource:
//
//	metrics.k8s.io/v1beta1/pods CPU
const Printer = "join"

// Joins reports whether the columns are joined columns. It examines only the first
// column.
func Joins(columns []api.Column) bool {
	return len(columns) > 0 && (columns[0].Printer == Printer || columns[0].Printer == Children)
}

// Resources returns the resources that joined columns read. All joined columns have the
// same resources, so Resources reads only the first column.
//
//go:noinline
func Resources(columns []api.Column) (resources []string) {
	text, from := first(columns)+",", 0
	for i := range len(text) {
		if text[i] == ',' {
			resources, from = append(resources, text[from:i]), i+1
		}
	}
	return resources
}

// first returns the part of the path of the first column that names resources.
//
//go:noinline
func first(columns []api.Column) string {
	resources, _, _ := lite.Cut(columns[0].Path, ' ')
	return resources
}

// Join is a collection with additional columns from other collections.
type Join struct {
	levels   []*level // the collection of the rows, then the others
	out      *cacher.Cacher
	counts   bool                  // the columns count children
	columns  []int                 // by joined column: its column in the last level, or none, or count
	joined   api.Cells             // the cells of the joined columns
	values   []api.Value           // buffer for the values of the joined columns
	children map[string]*histogram // counts of children by the UID of their owner
	bars     int                   // memory of the bars of children
	sum      histogram             // buffer for the counts of one row
	outdated bool
	unknown  *api.Status
	row      cacher.Update // buffer for the row that is stored next
}

const (
	none  = -1 // there is no such column
	count = -2 // the number of objects
)

// New returns a join whose rows are the objects of a collection. Build stores the rows in
// out, which must be empty. The schema describes the rows, with the joined columns at the
// end. The argument others contains the collections of [Resources], or is empty if the
// columns should have no values.
func New(rows *cacher.Cacher, others []*cacher.Cacher, out *cacher.Cacher, schema *api.Schema, joined []api.Column) *Join {
	out.Upstream().SetSchema(*schema)
	j := &Join{out: out, counts: joined[0].Printer == Children, children: map[string]*histogram{}, values: make([]api.Value, len(joined))}
	j.row.Revised = true
	j.joined = api.ColumnCellsFrom(len(schema.Columns) - len(joined))
	j.addLevel(rows)
	for _, other := range others {
		j.addLevel(other)
	}
	for i := range joined {
		j.columns = append(j.columns, j.find(joined[i].Path, first(joined)))
	}
	return j
}

// find returns the index of the column of the last level that a path names. It
// returns none if there is no such column, and count for a column that counts
// objects.
func (j *Join) find(path, resources string) int {
	last := j.last()
	switch {
	case last.number == 0:
		return none
	case j.counts && path == resources:
		return count
	}
	name := strings.TrimPrefix(path, resources+" ")
	at := last.cacher.Schema().Column(name)
	if at < 0 && last.cacher.Ready() { // before its list, the schema may be unknown
		j.unknown = query.UnknownName(last.cacher.Schema(), "join", name)
	}
	return at
}

func (j *Join) last() *level { return j.levels[len(j.levels)-1] }

// Built reports whether Build has read all objects.
func (j *Join) Built() bool { return j.levels[0].done }

// Cacher returns the cacher that contains the rows with all columns.
func (j *Join) Cacher() *cacher.Cacher { return j.out }

// Unknown returns a 400 if the other collection is known to lack a joined column, or nil.
func (j *Join) Unknown() *api.Status { return j.unknown }

// Outdated reports whether a list has replaced one of the collections, or whether the
// argument others differs from the other collections of the join.
//
//go:noinline
func (j *Join) Outdated(others []*cacher.Cacher) bool {
	for i, other := range others {
		if i+1 == len(j.levels) || j.levels[i+1].cacher != other {
			return true
		}
	}
	return j.outdated || len(others)+1 < len(j.levels)
}

// UsedBytes returns the approximate memory of the rows and of the counts.
func (j *Join) UsedBytes() int {
	used := j.out.Arena().UsedBytes() + ownerSize*len(j.children) + j.bars
	for _, l := range j.levels {
		used += l.own.UsedBytes() + l.owned.UsedBytes()
	}
	return used
}

// Close stops observing the collections.
func (j *Join) Close() {
	for _, l := range j.levels {
		l.cacher.Unobserve(l)
	}
}

// cost is the work per object, in the unit that the Build method of views uses.
const cost = 192

// Build reads objects until all are read, or until it has done about the given work. It returns
// the remaining work.
func (j *Join) Build(work int) int {
	for i := len(j.levels); i > 0 && work > 0; i-- { // the rows last, because they need the counts
		work = j.levels[i-1].read(work)
	}
	if j.Built() {
		j.out.EndRevision(j.levels[0].cacher.ResourceVersion(), 0)
	}
	return work
}

// put stores the row of a version. The argument unchanged contains the cells that equal
// those of the stored row.
func (j *Join) put(ref store.Ref, unchanged api.Cells) {
	arena := j.levels[0].cacher.Arena()
	e := j.levels[0].envelope(ref)
	if j.counts {
		j.count(e.UID())
	} else if last := j.last(); last.number > 0 {
		theirs := last.envelope(last.cacher.State().Get(e.Key()))
		for i, column := range j.columns {
			j.values[i] = theirs.Column(column)
		}
	}
	row := &j.row
	row.ResourceVersion, row.Flags, row.Labels = arena.ResourceVersion(ref), arena.Flags(ref), arena.LabelsAndOwner(ref)
	row.Envelope, row.Unchanged = e.AppendJoined(row.Envelope[:0], j.values), unchanged
	_ = j.out.Apply(row, 0) // cannot fail without a body
}

// revise updates the row of an object after a change in another collection.
func (j *Join) revise(id store.ID) {
	// AllCells would mean that nothing has changed. The shift always clears one bit, even
	// if no joined column has a bit of its own.
	if id != 0 {
		j.put(j.levels[0].cacher.State().Version(id), api.AllCells>>1&^j.joined)
	}
}
