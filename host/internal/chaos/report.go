//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/host/recording"
)

var (
	errNotConverged = errors.New("not converged")
	errLost         = errors.New("lost events")
)

// verify checks the recording of one reader, alone or together with the recording of etcd.
func verify(files []string) error {
	h := &recording.History{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		err = h.Load(name, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	_, err := h.Verify()
	return err
}

// result contains the measurements of one round.
type result struct {
	fault     string
	changes   int // number of changes in etcd
	events    int // number of events delivered to all readers
	converged []time.Duration
	relists   []int // of each reader, since the start of the recording
	restored  bool  // the fault rewrote the history, so converged measures the time until a reader equals etcd
}

func (r *result) String() string {
	median, longest := spread(r.converged)
	return fmt.Sprintf("%-28s %6d changes  %6d events  converged in %v (median), %v (max)", r.fault, r.changes, r.events, median, longest)
}

func spread(all []time.Duration) (median, longest time.Duration) {
	if len(all) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond)
}

// row contains the totals of the rounds with one kind of fault.
type row struct {
	fault                              string
	times, changes, events, relists    int
	converged                          []time.Duration
	lost, duplicated, unordered, other int // violations
}

func (r *row) add(o *row) {
	r.times += o.times
	r.changes += o.changes
	r.events += o.events
	r.relists += o.relists
	r.lost += o.lost
	r.duplicated += o.duplicated
	r.unordered += o.unordered
	r.other += o.other
	r.converged = append(r.converged, o.converged...)
}

func (r *row) violations() int { return r.lost + r.duplicated + r.unordered + r.other }

// report contains the results of a run.
type report struct {
	seed    uint64
	started time.Time
	rows    []*row // one per kind of fault
}

func newReport(seed uint64) *report {
	r := &report{seed: seed, started: time.Now()}
	for _, f := range faults {
		r.rows = append(r.rows, &row{fault: f.name})
	}
	return r
}

func (r *report) row(fault string) *row {
	return r.rows[slices.IndexFunc(r.rows, func(w *row) bool { return w.fault == fault })]
}

func (r *report) add(result *result) {
	one := &row{times: 1, changes: result.changes, events: result.events, converged: result.converged}
	for _, n := range result.relists {
		one.relists += n
	}
	r.row(result.fault).add(one)
}

// violated counts a violation in the column for the guarantee that err identifies.
func (r *report) violated(fault string, err error) {
	row := r.row(fault)
	row.times++
	is := func(kinds ...error) bool {
		return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
	}
	switch {
	case is(check.ErrUnique):
		row.duplicated++
	case is(check.ErrOrdered, check.ErrBookmarkable):
		row.unordered++
	case is(check.ErrReliable, check.ErrResumable, check.ErrFold, errLost):
		row.lost++
	default:
		row.other++
	}
}

func (r *report) total() *row {
	sum := &row{fault: "total"}
	for _, row := range r.rows {
		sum.add(row)
	}
	return sum
}

// print writes the table of faults and a line with the totals.
func (r *report) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "fault\ttimes\tchanges\tevents\trelists\tconverged (median)\t(max)\tlost\tduplicated\tout of order\tother\t")
	for _, w := range append(slices.Clone(r.rows), r.total()) {
		median, longest := spread(w.converged)
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%v\t%v\t%d\t%d\t%d\t%d\t\n",
			w.fault, w.times, w.changes, w.events, w.relists, median, longest, w.lost, w.duplicated, w.unordered, w.other)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "seed %d, %v, %d violations\n", r.seed, time.Since(r.started).Round(time.Second), r.total().violations())
	return err
}
