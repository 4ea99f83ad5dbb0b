package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/internal/terminal"
)

// groupFlags are the flags of get that print groups instead of objects.
type groupFlags struct {
	by         []string
	aggregates []string
}

func (g *groupFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&g.by, "group-by", nil, "print the number of objects by one or two columns, fields or labels, such as node,status")
	flags.StringSliceVar(&g.aggregates, "aggregate", nil, "with --group-by: columns, fields or labels whose numbers are summed up, such as restarts")
}

func (f *readFlags) checkGroups() error {
	switch {
	case len(f.groups.by) > 2:
		return fmt.Errorf("--group-by %q: expected one or two names", strings.Join(f.groups.by, ","))
	case len(f.groups.by) == 0 && len(f.groups.aggregates) > 0:
		return errors.New("--aggregate requires --group-by")
	case len(f.groups.by) == 0:
		return nil
	case f.watch:
		return errors.New("--group-by: groups are printed once; omit --watch")
	case f.output != formatTable || len(f.query.sortBy) > 0 || f.record != "":
		return errors.New("--group-by: groups are a table sorted by value; omit -o, --sort-by and --record")
	}
	return nil
}

// printGroups prints the groups of the objects that match the query.
func (r *reading) printGroups(ctx context.Context) error {
	g := &r.flags.groups
	view, err := r.collection.View(ctx, client.ViewOptions{
		Search: r.flags.query.search, Where: r.flags.query.where, Limit: 1, GroupBy: g.by, Aggregates: g.aggregates,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.printer.schema.Resource, err)
	}
	defer view.Close()
	for snapshot, err := range view.Snapshots(ctx) {
		if err != nil {
			return err
		}
		return r.printer.groups(g, &snapshot.Groups)
	}
	return nil
}

func (p *printer) groups(g *groupFlags, groups *client.Groups) error {
	var rows [][]string
	if !p.noHeaders {
		rows = append(rows, p.groupHeader(g))
	}
	for _, group := range groups.Values {
		var row []string
		for _, value := range group.Values {
			if value == "" {
				value = "<none>"
			}
			row = append(row, terminal.Text(value))
		}
		row = append(row, strconv.FormatUint(group.Rows, 10))
		for _, a := range group.Aggregates {
			row = append(row, aggregateTexts(a)...)
		}
		rows = append(rows, row)
	}
	if err := p.table(rows); err != nil || groups.OtherValues == 0 {
		return err
	}
	_, err := fmt.Fprintf(p.out, "%d smaller groups: %d\n", groups.OtherValues, groups.OtherRows)
	return err
}

func (p *printer) groupHeader(g *groupFlags) []string {
	row := append(append([]string{}, g.by...), p.schema.Resource.Name)
	for _, name := range g.aggregates {
		row = append(row, "sum("+name+")", "min("+name+")", "max("+name+")")
	}
	for i := range row {
		row[i] = terminal.Text(strings.ToUpper(row[i]))
	}
	return row
}

func aggregateTexts(a wire.Aggregate) []string {
	if a.Values == 0 {
		return []string{"<none>", "<none>", "<none>"}
	}
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	return []string{number(a.Sum), number(a.Min), number(a.Max)}
}
