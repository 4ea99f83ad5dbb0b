package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/client"
)

// queryFlags are the flags of a query, which a view evaluates.
type queryFlags struct {
	search string
	where  string
	sortBy []string
}

const queryHelp = `

--search, --where and --sort-by accept the columns of the table in any case
(restarts), fields (status.phase), name, namespace, and labels (labels[app]).
Numbers, quantities, IP addresses, ages, and numbers in names compare by value.`

func (q *queryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&q.search, "search", "", `words that the name, labels or columns contain, such as 'pay -test "back off"'`)
	flags.StringVar(&q.where, "where", "", "condition, such as 'restarts>3 and (status~crash or age<10m)'")
	flags.StringArrayVar(&q.sortBy, "sort-by", nil, "sort keys, such as -restarts,name; - reverses, and ages sort youngest first (repeatable)")
}

func (q *queryFlags) isSet() bool { return q.search != "" || q.where != "" || len(q.sortBy) > 0 }

// readsView reports whether rows come from a view.
func (f *readFlags) readsView() bool { return f.query.isSet() || len(f.added.columns) > 0 }

// checkQuery reports errors in a query that it can detect without a schema, and conflicts
// with other flags.
func (f *readFlags) checkQuery() error {
	for _, keys := range f.query.sortBy {
		switch key := strings.TrimLeft(keys, " -"); {
		case strings.TrimSpace(keys) == "":
			return errors.New(`--sort-by "": expected names of columns or fields, such as -restarts,name`)
		case strings.HasPrefix(key, "."), strings.HasPrefix(key, "{"):
			return fmt.Errorf("--sort-by %q: expected names of columns or fields, such as -restarts,name; JSONPath is not supported", keys)
		}
	}
	switch {
	case !f.readsView() || !f.watch:
		return nil
	case f.output == formatJSON:
		return errors.New("-o json: a watch with --search, --where, --sort-by or --add-column prints rows without JSON; omit -o, or select with -l and --field-selector")
	case f.record != "":
		return errors.New("--record: a recording contains all events; omit --search, --where, --sort-by and --add-column")
	}
	return nil
}

// view opens a view with the query of the flags.
func (r *reading) view(ctx context.Context, limit uint32) (*client.View, error) {
	q := &r.flags.query
	view, err := r.collection.View(ctx, client.ViewOptions{
		Search: q.search, Where: q.where, Sort: strings.Join(q.sortBy, ","), Limit: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.printer.schema.Resource, err)
	}
	return view, nil
}

// listMatching returns the objects that match the query, in the order of --sort-by, and
// the version of the list.
func (r *reading) listMatching(ctx context.Context) ([]object, api.ResourceVersion, error) {
	view, err := r.view(ctx, 1)
	if err != nil {
		return nil, 0, err
	}
	defer view.Close()
	list, err := view.All(ctx)
	if err != nil {
		return nil, 0, err
	}
	return asObjects(list.Items), list.ResourceVersion, nil
}

// watchMatching prints the objects that match the query, and then every change until ctx
// is done.
func (r *reading) watchMatching(ctx context.Context) error {
	view, err := r.view(ctx, wire.MaxViewRows)
	if err != nil {
		return err
	}
	defer view.Close()
	var last *client.Snapshot
	for snapshot, err := range view.Snapshots(ctx) {
		if err != nil {
			return err
		}
		if snapshot.Total > wire.MaxViewRows {
			return fmt.Errorf("%d %s match, and a watch with a query or added columns shows at most %d; narrow it with -n, -l, --search or --where",
				snapshot.Total, r.printer.schema.Resource.Name, wire.MaxViewRows)
		}
		if last == nil {
			err = r.print(asObjects(snapshot.Rows), snapshot.ResourceVersion)
		} else {
			err = r.printChanges(last.Rows, snapshot.Rows)
		}
		if err != nil {
			return err
		}
		last = snapshot
	}
	return nil
}

// printChanges prints the differences between the rows of two snapshots. An object that
// no longer matches is printed as DELETED, as in a watch with a selector.
func (r *reading) printChanges(last, next []client.Object) error {
	known := byKey(last)
	remaining := byKey(next)
	for _, old := range last {
		if o, ok := remaining[old.Key()]; !ok || o.UID() != old.UID() {
			delete(known, old.Key())
			if err := r.printer.event(api.Deleted, old); err != nil {
				return err
			}
		}
	}
	for _, o := range next {
		old, ok := known[o.Key()]
		if ok && old.ResourceVersion() == o.ResourceVersion() && r.sameAdded(old, o) {
			continue
		}
		kind := api.Added
		if ok {
			kind = api.Modified
		}
		if err := r.printer.event(kind, o); err != nil {
			return err
		}
	}
	return nil
}

func byKey(rows []client.Object) map[api.Key]client.Object {
	objects := make(map[api.Key]client.Object, len(rows))
	for _, o := range rows {
		objects[o.Key()] = o
	}
	return objects
}

func asObjects(rows []client.Object) []object {
	objects := make([]object, len(rows))
	for i, o := range rows {
		objects[i] = o
	}
	return objects
}
