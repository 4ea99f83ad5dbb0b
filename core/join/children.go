package join

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// Children is the printer name of columns that count the objects below a row. The path of
// such a column is a comma-separated list of resources, from the top down. The last
// resource is that of the counted objects; the others are those of the owners between the
// row and these objects. A space and the name of a column may follow:
//
//	apps/v1/replicasets,v1/pods
//	apps/v1/replicasets,v1/pods Status
//
// Without a column name, the cell is an Integer, the number of objects. With a column
// name, it is a String that lists the number of objects per value, such as "Running 3,
// Pending 1". The most frequent value comes first. The text omits objects without a
// value, and the cell is Null if no object has a value. An object is below a row if its
// owner is the row, or an object of a listed resource that is below the row.
const Children = "children"

// maxValues is the maximum number of values that a cell lists. The cell counts objects
// with other values as "others".
const maxValues = 8

// histogram contains values in no particular order, each with the number of objects that
// have the value.
type histogram []bar

type bar struct {
	column int // index of the joined column
	value  string
	n      int
}

// add adds n to the count of the owner's children with the given value. It does nothing
// if the owner or the value is "".
func (j *Join) add(owner string, column int, value string, n int) {
	if owner == "" || value == "" {
		return
	}
	h := j.children[owner]
	if h == nil {
		h = &histogram{}
		j.children[lite.Clone(owner)] = h
	}
	before := len(*h)
	h.add(column, value, n)
	j.bars += (len(*h) - before) * (barSize + len(value))
	if len(*h) == 0 {
		delete(j.children, owner)
	}
}

const (
	ownerSize = 130 // estimated bytes of a UID of 36 bytes in a map, with a histogram
	barSize   = 48  // estimated bytes of a bar without its value, in a slice with spare capacity
)

func (h *histogram) add(column int, value string, n int) {
	all := *h
	for i := range all {
		if b := &all[i]; b.column == column && b.value == value {
			if b.n += n; b.n == 0 {
				*b = all[len(all)-1]
				*h = all[:len(all)-1]
			}
			return
		}
	}
	*h = append(all, bar{column, lite.Clone(value), n})
}

// count computes the joined values of the row with the given UID.
func (j *Join) count(uid string) {
	ready := true
	for _, l := range j.levels {
		ready = ready && l.cacher.Ready()
	}
	j.sum = j.sum[:0]
	j.levels[0].addBelow(uid)
	for i, column := range j.columns {
		j.values[i] = api.Value{}
		if column != none && ready {
			j.values[i] = j.sum.value(i, column == count)
		}
	}
}

// addBelow takes the UID of an object of this level, and adds the counts of all objects
// below that object to the sum.
func (l *level) addBelow(uid string) {
	if h := l.join.children[uid]; h != nil {
		for _, b := range *h {
			l.join.sum.add(b.column, b.value, b.n)
		}
	}
	for _, below := range l.join.levels[l.number+1:] {
		for _, id := range below.owned[uid] {
			own, _ := below.at(id)
			below.addBelow(own)
		}
	}
}

// value returns the cell of a column: the total if count is set, and otherwise the list
// of values. To build the list, it sets the counts of the listed values to zero.
func (h histogram) value(column int, count bool) (v api.Value) {
	var text []byte
	for listed := 0; ; listed++ {
		rest, at, most := 0, 0, bar{}
		for i, b := range h {
			if b.column == column {
				if rest += b.n; b.n > most.n || b.n == most.n && b.value < most.value {
					at, most = i, b
				}
			}
		}
		switch {
		case count:
			return api.Value{Kind: api.Integer, Int: int64(rest)}
		case rest == 0:
			if listed > 0 {
				v = api.Value{Kind: api.String, Text: string(text)}
			}
			return v
		case listed == maxValues:
			most.value, most.n, column = "others", rest, none
		}
		if listed > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(append(append(text, most.value...), ' '), int64(most.n), 10)
		h[at].n = 0
	}
}
