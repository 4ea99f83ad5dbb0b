package join

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Printer is the printer of joined columns. The path of such a column is the other
// resource and the name of its column, separated by a blank:
//
//	metrics.k8s.io/v1beta1/pods CPU
const Printer = "join"

// Resource returns the other resource of joined columns, which is that of the first.
func Resource(columns []api.Column) string {
	resource, _, _ := lite.Cut(columns[0].Path, ' ')
	return resource
}

// Join is a collection with columns of another one.
type Join struct {
	rows, other *cacher.Cacher // other is nil if the joined columns have no values
	out         *cacher.Cacher
	columns     []int     // by joined column: the column of the other collection, or -1
	joined      api.Cells // the joined columns
	cursor      api.Key   // of the last object that Build has read
	built       bool
	outdated    bool
	unknown     *api.Status
	row         cacher.Update // a buffer
}

// New returns a join whose rows are the objects of a collection. It puts them into an empty
// cacher when Build reads them. The schema is that of the rows with the joined columns at
// the end. other is nil if these have no values.
func New(rows, other, out *cacher.Cacher, schema *api.Schema, joined []api.Column) *Join {
	out.Upstream().SetSchema(*schema)
	j := &Join{rows: rows, other: other, out: out, columns: make([]int, len(joined))}
	j.row.Revised = true
	j.joined = api.ColumnCellsFrom(len(schema.Columns) - len(joined))
	rows.Observe(j)
	if other != nil {
		other.Observe((*otherObserver)(j))
		for i := range joined {
			j.columns[i] = j.find(strings.TrimPrefix(joined[i].Path, Resource(joined)+" "))
		}
	}
	return j
}

// find returns the column of the other collection with a name, or -1.
func (j *Join) find(name string) int {
	schema := j.other.Schema()
	at := schema.Column(name)
	if at < 0 && j.other.Ready() { // before its list, the schema may be unknown
		j.unknown = query.UnknownName(schema, "join", name)
	}
	return at
}

// Built reports whether Build has read all objects.
func (j *Join) Built() bool { return j.built }

// Cacher returns the objects with all columns, for observers.
func (j *Join) Cacher() *cacher.Cacher { return j.out }

// Unknown returns the 400 for a column that the other collection does not have, or nil.
func (j *Join) Unknown() *api.Status { return j.unknown }

// Outdated reports whether a list has replaced one of the collections, or the other
// collection is now a different one.
func (j *Join) Outdated(other *cacher.Cacher) bool { return j.outdated || j.other != other }

// Close stops to observe the collections.
func (j *Join) Close() {
	j.rows.Unobserve(j)
	if j.other != nil {
		j.other.Unobserve((*otherObserver)(j))
	}
}

// cost is the work for an object, in the unit of the Build of views.
const cost = 192

// Build reads objects until all are read, or until it has taken about this much work. It
// returns the rest of the work.
func (j *Join) Build(work int) int {
	last := store.Ref(0)
	j.rows.State().After(j.cursor, func(_ store.ID, ref store.Ref) bool {
		last = ref
		j.put(ref, 0)
		work -= cost
		return work > 0
	})
	if last != 0 {
		j.cursor = api.Key(lite.Clone(string(j.rows.Arena().Key(last))))
	}
	if j.built = work > 0; j.built {
		j.out.EndRevision(j.rows.ResourceVersion(), 0)
	}
	return work
}

// put stores the row of a version. unchanged are cells that are equal in the current row.
func (j *Join) put(ref store.Ref, unchanged api.Cells) {
	arena := j.rows.Arena()
	e, theirs := arena.Envelope(ref), wire.Envelope(nil)
	if j.other != nil {
		if id := j.other.State().Find(e.Key()); id != 0 {
			theirs = j.other.Arena().Envelope(j.other.State().Version(id))
		}
	}
	row := &j.row
	row.ResourceVersion, row.Flags, row.Labels = arena.ResourceVersion(ref), arena.Flags(ref), arena.LabelsAndOwner(ref)
	row.Envelope, row.Unchanged = e.AppendJoined(row.Envelope[:0], theirs, j.columns), unchanged
	_ = j.out.Apply(row, 0) // cannot fail without a body
}

// changed updates the row of the object of an event, unless Build will read it.
func (j *Join) changed(c *cacher.Cacher, e *history.Event, unchanged api.Cells) {
	ref := e.Current
	if ref == 0 {
		ref = e.Previous
	}
	key := c.Arena().Key(ref)
	switch ref = j.rows.State().Get(key); {
	case !j.built && key > j.cursor:
	case ref != 0:
		j.put(ref, unchanged)
	case c == j.rows:
		j.out.Delete(key, e.ResourceVersion, 0)
	}
}

// Replaced implements cacher.Observer.
func (j *Join) Replaced() { j.outdated = true }

// Changed implements cacher.Observer.
func (j *Join) Changed(_ store.ID, e *history.Event) {
	j.changed(j.rows, e, e.Unchanged|j.joined)
}

// otherObserver observes the other collection.
type otherObserver Join

// Replaced implements cacher.Observer.
func (o *otherObserver) Replaced() { o.outdated = true }

// Changed implements cacher.Observer.
func (o *otherObserver) Changed(_ store.ID, e *history.Event) {
	// Without a bit beside those of the joined columns, because all bits mean that the
	// cells without a bit are equal, too.
	(*Join)(o).changed(o.other, e, api.AllCells>>1&^o.joined)
}
