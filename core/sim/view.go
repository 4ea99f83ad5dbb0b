package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/naive"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// view is an open view of the program, with the rows and counts that its patches define.
type view struct {
	id         uint32
	open       wire.OpenView
	collection *collection
	patched    bool
	total      uint64
	offset     uint32
	anchor     anchor
	log        *check.Log          // of the collection at the last patch
	counts     map[[2]string]count // by the value, or by the two values of a pair
	rows       []row
	// owed means that the program has applied a patch without granting the next. The
	// program grants the next patch when the system is idle or, if paused, later.
	owed, paused bool
}

// count is the number of rows with a value, and the summary of their restarts if the
// facet has aggregates.
type count struct {
	rows     uint64
	restarts wire.Aggregate
}

type row struct {
	key api.Key
	rv  api.ResourceVersion
}

func (r *reader) viewPatch(f *wire.ViewPatch) {
	for _, v := range r.views {
		if v.id == f.View {
			r.patch(v, f)
		}
	}
}

func (r *reader) patch(v *view, f *wire.ViewPatch) {
	if v.owed {
		r.world.fail(ErrView, "reader %d, view %+v: a patch that was not granted", r.id, v.open)
	}
	v.owed = true
	r.findAnchor(v, f)
	if v.anchor.version != nil && v.patched && v.anchor.found && f.Offset != v.offset {
		r.world.saw(AnchorMoved)
	}
	v.anchor.found = true
	v.patched, v.total, v.offset, v.counts = true, f.Total, f.Offset, map[[2]string]count{}
	for _, facet := range f.Facets {
		for _, c := range facet.Values {
			n := count{rows: c.Rows}
			if len(c.Aggregates) > 0 {
				n.restarts = c.Aggregates[0]
			}
			v.counts[[2]string{string([]byte(c.Value)), string([]byte(c.Then))}] = n
		}
	}
	old := v.rows
	if f.Reset {
		old = nil
	}
	rows := []row{}
	for i := range f.Edits {
		e := &f.Edits[i]
		if uint64(e.Keep)+uint64(e.Remove) > uint64(len(old)) {
			r.world.fail(ErrView, "reader %d, view %+v: a patch edits more than %d rows", r.id, v.open, len(v.rows))
			return
		}
		rows, old = append(rows, old[:e.Keep]...), old[e.Keep+e.Remove:]
		for j := range e.Insert {
			it := &e.Insert[j]
			rows = append(rows, row{api.Key(string([]byte(it.Envelope.Key()))), it.ResourceVersion})
		}
	}
	v.rows = append(rows, old...)
}

// grantViews grants the next patch to waiting views, and reports whether any were
// waiting.
func (r *reader) grantViews() bool {
	granted := false
	for _, v := range r.views {
		if v.owed && !v.paused {
			v.owed, granted = false, true
			r.step(&wire.GrantView{View: v.id})
		}
	}
	return granted
}

// checkView compares a view with the sorted and filtered list at the version of
// its collection.
func (r *reader) checkView(v *view) {
	c := v.collection
	if !c.ready() || v.owed {
		return
	}
	log := c.epoch.source.logs[c.kind]
	if !log.Exact(c.reported.ResourceVersion) || r.world.undetermined(log) {
		return
	}
	owners, known := r.ownersOf(v)
	if !known {
		return
	}
	want, offset, counts, total := v.expected(log, owners)
	got := v.rows
	window := v.anchor.unknown || v.offset == offset && slices.Equal(got, want)
	if v.patched && v.total == total && window && fmt.Sprint(v.counts) == fmt.Sprint(counts) {
		return
	}
	r.world.fail(ErrView, "reader %d, view %+v at version %d: %d rows from %d %v %v, expected %d rows from %d %v %v",
		r.id, v.open, c.reported.ResourceVersion, v.total, v.offset, got, v.counts, total, offset, want, counts)
}

// undetermined reports whether readers may have different data at the same version. This
// is possible if the log has faulty versions and faults can still occur.
func (w *world) undetermined(log *check.Log) bool {
	for _, key := range log.Keys() {
		if log.Tainted(key) && !w.quiet {
			return true
		}
	}
	return false
}

// ownersOf returns the UIDs of the owners whose objects a view selects, or nil if it
// selects all objects. It searches all collections until it finds no further owner.
// known is false if the state of a collection is not determined.
func (r *reader) ownersOf(v *view) (owners map[string]bool, known bool) {
	if v.open.OwnedBy == "" {
		return nil, true
	}
	owners = map[string]bool{v.open.OwnedBy: true}
	for found := v.open.Recursive; found; {
		found = false
		for _, c := range r.collections {
			if c.reported.ResourceVersion == 0 {
				continue // it has no objects
			}
			if !c.ready() || !c.epoch.source.logs[c.kind].Exact(c.reported.ResourceVersion) || r.world.undetermined(c.epoch.source.logs[c.kind]) {
				return nil, false
			}
			for _, item := range c.epoch.source.logs[c.kind].List(c.reported.ResourceVersion, c.filter.Match) {
				if o := item.Object; owners[o.Owner] && !owners[o.UID] {
					owners[o.UID], found = true, true
					r.world.saw(OwnedIndirectly)
				}
			}
		}
	}
	return owners, true
}

func (v *view) expected(log *check.Log, owners map[string]bool) (rows []row, offset uint32, counts map[[2]string]count, total uint64) {
	f := check.Filter{Labels: v.open.LabelSelector, Fields: v.open.FieldSelector}
	list := log.List(v.collection.reported.ResourceVersion, func(key api.Key, o *check.Object) bool {
		return v.collection.filter.Match(key, o) && f.Match(key, o) &&
			(len(v.open.Namespaces) == 0 || slices.Contains(v.open.Namespaces, key.Namespace())) &&
			(owners == nil || owners[o.Owner]) && conditions[v.open.Where](o)
	})
	slices.SortFunc(list, v.order)
	counts = map[[2]string]count{}
	for _, item := range list {
		for _, facet := range v.open.Facets {
			values := [2]string{item.Object.Fields[facet.By]}
			if facet.By == "owner" {
				values[0] = item.Object.Owner
			}
			if facet.Then != "" {
				values[1] = item.Key.Namespace()
			}
			counts[values] = counts[values].with(item.Object, facet.Aggregates)
		}
	}
	rows, offset = []row{}, v.open.Offset
	if v.anchor.version != nil {
		position, _ := slices.BinarySearchFunc(list, *v.anchor.version, v.order)
		offset = uint32(max(position-int(v.open.Before), 0))
	}
	for i, item := range list {
		if i >= int(offset) && i < int(offset)+int(v.open.Limit) {
			rows = append(rows, row{item.Key, item.Object.ResourceVersion})
		}
	}
	return rows, offset, counts, uint64(len(list))
}

// order compares two rows by the sort keys of the view, and then by object key.
func (v *view) order(a, b check.Item) int {
	for _, key := range strings.Split(v.open.Sort, ",") {
		name, reversed := strings.CutPrefix(key, "-")
		order := compareBy(name, a, b)
		if reversed {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(a.Key, b.Key)
}

// with returns the count with a row added.
func (c count) with(o *check.Object, aggregates []string) count {
	c.rows++
	for _, name := range aggregates {
		if n, ok := naive.Quantity(o.Fields[name]); ok {
			a := &c.restarts
			if a.Values == 0 {
				a.Min, a.Max = n, n
			}
			a.Values, a.Sum, a.Min, a.Max = a.Values+1, a.Sum+n, min(a.Min, n), max(a.Max, n)
		}
	}
	return c
}

// conditions maps the conditions of views to their expected meaning.
var conditions = map[string]func(*check.Object) bool{
	"": func(*check.Object) bool { return true },
	"Restarts>0 and spec.nodeName exists": func(o *check.Object) bool {
		restarts, _ := naive.Quantity(o.Fields["Restarts"])
		return restarts > 0 && o.Fields["spec.nodeName"] != ""
	},
	"not (status.phase~run or restarts=0)": func(o *check.Object) bool {
		return !naive.Includes(o.Fields["status.phase"], "run") && o.Fields["Restarts"] != "0"
	},
}

func compareBy(name string, a, b check.Item) int {
	switch name {
	case "":
		return 0
	case "name":
		return naive.Natural(a.Key.Name(), b.Key.Name())
	case "namespace":
		return naive.Natural(a.Key.Namespace(), b.Key.Namespace())
	}
	return naive.Compare(textValue(a.Object.Fields[name]), textValue(b.Object.Fields[name]))
}

func textValue(s string) api.Value { return api.Value{Kind: api.String, Text: s} }
