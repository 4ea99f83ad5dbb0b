package client

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// ViewOptions describe a live window over a collection.
type ViewOptions struct {
	Namespaces    []string // default: all
	LabelSelector string
	FieldSelector string
	Search        string // words that the texts of a row contain, such as "pay -test"
	Where         string // a condition such as "restarts>3 and not status.phase=Running"
	OwnedBy       string // the UID of the rows' owner: the controller, or else the first owner
	Recursive     bool   // also objects that the owner owns indirectly, through objects of open collections
	Sort          string // sort keys such as "-restarts, name". Default: by key
	Offset        uint32
	Limit         uint32   // rows in the window. Default 100, at most wire.MaxViewRows
	Anchor        string   // the key of an object to which the window is moved, as with MoveTo
	Before        uint32   // rows of the window above the anchor
	Facets        []string // columns, fields or labels to count rows by
	GroupBy       []string // one or two columns, fields or labels to group the rows by
	Aggregates    []string // columns, fields or labels whose numbers are summarized per group
}

const defaultLimit = 100

// Snapshot is the window of a view at one point in time. It is immutable.
type Snapshot struct {
	Rows   []Object // without JSON
	Total  uint64   // number of matching rows, inside or outside the window
	Offset uint32   // index of the first row
	Facets []Facet  // in the order of the options
	Groups Groups
	// ResourceVersion is the version of the collection that the window shows. Later
	// changes, up to the next snapshot, did not affect the window.
	ResourceVersion api.ResourceVersion
}

// Facet contains the number of rows for each value of a column, field or label. It also
// counts rows that the view excludes only by conditions on that column, field or label.
type Facet struct {
	Values                 []Count // the 100 most frequent values, sorted by value
	OtherValues, OtherRows uint64
}

// Count is the number of rows with a value.
type Count struct {
	Value string
	Rows  uint64
}

// Groups contains up to 1000 groups, those with the most rows, sorted by their values.
// OtherValues and OtherRows count the other groups and their rows.
type Groups struct {
	Values                 []Group
	OtherValues, OtherRows uint64
}

// Group describes the rows that have the same values for ViewOptions.GroupBy.
type Group struct {
	Values     []string // in the order of ViewOptions.GroupBy: "" for a missing value, milliseconds for a time
	Rows       uint64
	Aggregates []wire.Aggregate // in the order of ViewOptions.Aggregates
}

// View is a live window over a filtered and sorted collection.
type View struct {
	collection *Collection
	id         uint32
	open       wire.OpenView // owned by the loop after the view is opened
	newest     snapshots[Snapshot]
}

// View opens a view. Close the view when done.
func (c *Collection) View(ctx context.Context, opts ViewOptions) (*View, error) {
	v := &View{collection: c, open: wire.OpenView{
		Collection: c.id, Namespaces: slices.Clone(opts.Namespaces), LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector,
		Search: opts.Search, Where: opts.Where, OwnedBy: opts.OwnedBy, Recursive: opts.Recursive, Sort: opts.Sort,
		Offset: opts.Offset, Limit: opts.Limit, Anchor: opts.Anchor, Before: opts.Before,
	}}
	for _, by := range opts.Facets {
		v.open.Facets = append(v.open.Facets, wire.Facet{By: by})
	}
	if err := v.groupBy(opts.GroupBy, opts.Aggregates); err != nil {
		return nil, err
	}
	if v.open.Limit == 0 {
		v.open.Limit = defaultLimit
	}
	err := c.client.call(ctx, func(l *loop) error {
		if l.collections[c.id] == nil {
			return ErrClosed
		}
		v.id = l.newID()
		l.views[v.id] = v
		if err := l.step(v.command()); err != nil {
			delete(l.views, v.id)
			return err
		}
		state, _ := v.newest.get()
		return state.err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// groupBy adds a facet that computes the groups, after all other facets. Without names,
// it adds none.
func (v *View) groupBy(names, aggregates []string) error {
	if len(names) > 2 {
		return api.BadRequest("a view groups rows by at most two names")
	}
	if len(names) == 0 {
		return nil
	}
	groups := wire.Facet{By: names[0], Limit: wire.MaxFacetValues, RowsOnly: true, Aggregates: slices.Clone(aggregates)}
	if len(names) > 1 {
		groups.Then = names[1]
	}
	v.open.Facets = append(v.open.Facets, groups)
	return nil
}

func (v *View) command() []byte {
	v.open.View = v.id
	return v.open.Append(nil)
}

// Snapshot returns the newest snapshot, or nil before the first snapshot.
func (v *View) Snapshot() *Snapshot {
	state, _ := v.newest.get()
	return state.snapshot
}

// Snapshots yields the newest snapshot and then a new one for every change. A slow reader
// skips intermediate snapshots. The loop ends with an error: ErrClosed, the refusal of
// the view, or the error of ctx.
func (v *View) Snapshots(ctx context.Context) iter.Seq2[*Snapshot, error] {
	return v.newest.all(ctx)
}

// Move moves the window to an offset, where it stays.
func (v *View) Move(ctx context.Context, offset, limit uint32) error {
	return v.move(ctx, func() wire.MoveView { return wire.MoveView{Offset: offset, Limit: limit} })
}

// MoveTo moves the window to the position of an object in the sort order, with the given
// number of rows before it. The window stays at this position: rows that are inserted or deleted
// above it change Snapshot.Offset. If the object changes or is deleted later, the window
// does not follow. If the collection does not contain the object, the window stays at its
// current offset.
func (v *View) MoveTo(ctx context.Context, key string, before, limit uint32) error {
	return v.move(ctx, func() wire.MoveView {
		return wire.MoveView{Offset: v.open.Offset, Limit: limit, Anchor: key, Before: before}
	})
}

func (v *View) move(ctx context.Context, to func() wire.MoveView) error {
	return v.collection.client.call(ctx, func(l *loop) error {
		if l.views[v.id] == nil {
			return ErrClosed
		}
		return l.step(v.moved(to()))
	})
}

// moved records the new window, and returns the command that moves the view to it.
func (v *View) moved(f wire.MoveView) []byte {
	f.View = v.id
	v.open.Offset, v.open.Limit, v.open.Anchor, v.open.Before = f.Offset, f.Limit, f.Anchor, f.Before
	return f.Append(nil)
}

// All returns every matching row in order, all as of one resource version, with JSON
// unless the collection has metadata only. The call moves the window.
func (v *View) All(ctx context.Context) (List, error) {
	var list List
	err := v.collection.client.call(ctx, func(l *loop) (err error) {
		if l.views[v.id] == nil {
			return ErrClosed
		}
		// No data reaches the engine before this function returns, so the state does not
		// change. The view is exact once its evaluation is complete.
		l.settle()
		if list.ResourceVersion, err = v.resourceVersion(l); err != nil {
			return err
		}
		if list.Items, err = v.rows(l); err != nil || v.collection.opts.MetadataOnly {
			return err
		}
		for i := range list.Items {
			get := wire.Get{Collection: v.collection.id, Key: list.Items[i].Key()}
			err := l.exchange(func(id uint32) []byte {
				get.Request = id
				return get.Append(nil)
			}, func(reply any) { list.Items[i] = newObject(&reply.(*wire.ObjectReply).Item) })
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return List{}, err
	}
	return list, nil
}

// resourceVersion returns the version of the state that the view shows.
func (v *View) resourceVersion(l *loop) (rv api.ResourceVersion, err error) {
	command := wire.List{Collection: v.collection.id, Limit: 1}
	err = l.exchange(func(id uint32) []byte {
		command.Request = id
		return command.Append(nil)
	}, func(reply any) { rv = reply.(*wire.ListReply).ResourceVersion })
	return rv, err
}

// rows returns all rows, one window after the other.
func (v *View) rows(l *loop) ([]Object, error) {
	var rows []Object
	for {
		offset := uint32(len(rows))
		if err := l.command(v.moved(wire.MoveView{Offset: offset, Limit: wire.MaxViewRows})); err != nil {
			return nil, err
		}
		s := v.Snapshot()
		if l.instance == nil || s == nil || s.Offset != offset {
			return nil, restarting()
		}
		rows = append(rows, s.Rows...)
		if len(s.Rows) == 0 || uint64(len(rows)) >= s.Total {
			return rows, nil
		}
	}
}

// Close closes the view. The last snapshot stays readable.
func (v *View) Close() error {
	err := v.collection.client.call(context.Background(), func(l *loop) error {
		if l.views[v.id] == nil {
			return nil
		}
		delete(l.views, v.id)
		return l.step((&wire.CloseView{View: v.id}).Append(nil))
	})
	v.newest.finish(ErrClosed)
	if err == ErrClosed {
		return nil // closed together with its client
	}
	return err
}

// apply creates the next snapshot, which shares unchanged rows with the last one.
func (v *View) apply(f *wire.ViewPatch) error {
	var old []Object
	if last := v.Snapshot(); last != nil && !f.Reset {
		old = last.Rows
	}
	rows, err := edited(old, f.Edits)
	if err != nil {
		return err
	}
	v.open.Offset = f.Offset // an anchor may have moved the window
	s := &Snapshot{Rows: rows, Total: f.Total, Offset: f.Offset, ResourceVersion: f.ResourceVersion}
	for i := range f.Facets {
		if i < len(v.open.Facets) && v.open.Facets[i].RowsOnly {
			s.Groups = newGroups(&v.open.Facets[i], &f.Facets[i])
			continue
		}
		facet := Facet{OtherValues: f.Facets[i].OtherValues, OtherRows: f.Facets[i].OtherRows}
		for _, c := range f.Facets[i].Values {
			facet.Values = append(facet.Values, Count{strings.Clone(c.Value), c.Rows})
		}
		s.Facets = append(s.Facets, facet)
	}
	v.newest.replace(s)
	return nil
}

func newGroups(query *wire.Facet, counts *wire.FacetCounts) Groups {
	groups := Groups{OtherValues: counts.OtherValues, OtherRows: counts.OtherRows}
	for _, c := range counts.Values {
		g := Group{Values: []string{strings.Clone(c.Value)}, Rows: c.Rows, Aggregates: slices.Clone(c.Aggregates)}
		if query.Then != "" {
			g.Values = append(g.Values, strings.Clone(c.Then))
		}
		groups.Values = append(groups.Values, g)
	}
	return groups
}

// edited returns a copy of rows with the edits applied.
func edited(rows []Object, edits []wire.Edit) ([]Object, error) {
	next := make([]Object, 0, len(rows))
	for i := range edits {
		e := &edits[i]
		if uint64(e.Keep)+uint64(e.Remove) > uint64(len(rows)) {
			return nil, api.Protocol("the patch of a view edits rows that the view does not have")
		}
		next, rows = append(next, rows[:e.Keep]...), rows[e.Keep+e.Remove:]
		for j := range e.Insert {
			next = append(next, newObject(&e.Insert[j]))
		}
	}
	return append(next, rows...), nil
}
