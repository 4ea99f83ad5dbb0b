//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// target is the highest accepted ratio of the latency during an abuse to the latency
// without the abuse.
const target = 1.5

// cost is the connector's memory for the clients of one kind.
type cost struct {
	name   string
	n      int
	memory int64 // memory for all n clients, in bytes
	total  int64 // total memory of the connector, in bytes
}

// outcome contains the measurements without an abuse (alone) and during the abuse (beside).
type outcome struct {
	*abuse
	alone, beside sample
}

// report is the result of a run.
type report struct {
	costs    []cost
	outcomes []outcome
}

func (r *report) add(c cost) { r.costs = append(r.costs, c) }

func (r *report) abused(a *abuse, alone, beside sample) {
	r.outcomes = append(r.outcomes, outcome{a, alone, beside})
}

// refusedBy returns the number of refusals by the limits that must refuse the abuse.
func (a *abuse) refusedBy(refused map[string]int) (n int) {
	for _, l := range a.refusals {
		n += refused[l.Name]
	}
	return n
}

// seen reports whether one of the abuse's limits has refused a request. For legitimate
// load, it reports whether all clients have made their attempt.
func (a *abuse) seen(refused map[string]int) bool {
	if len(a.refusals) == 0 {
		return a.attempts.Load() >= int64(a.clients)
	}
	return a.refusedBy(refused) > 0
}

func ratio(beside, alone time.Duration) float64 { return float64(beside) / float64(max(alone, 1)) }

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

// print writes the tables of memory and of abuses.
func (r *report) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "clients\tnumber\tmemory of each\tmemory of the connector\t")
	for _, c := range r.costs {
		fmt.Fprintf(t, "%s\t%d\t%.1f kB\t%s\t\n", c.name, c.n, float64(c.memory)/1e3/float64(max(c.n, 1)), megabytes(c.total))
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(t, "abuse\tclients\tsamples\tp50\tbeside\tratio\tp99\tbeside\tratio\tcores\tbeside\tmemory\tcut off\trefused\t")
	for _, o := range r.outcomes {
		fmt.Fprintf(t, "%s\t%d\t%d+%d\t%v\t%v\t%.2f\t%v\t%v\t%.2f\t%.2f\t%.2f\t%s\t%d\t%s\t\n", o.name, o.clients, len(o.alone.latencies), len(o.beside.latencies),
			short(o.alone.p50), short(o.beside.p50), ratio(o.beside.p50, o.alone.p50),
			short(o.alone.p99), short(o.beside.p99), ratio(o.beside.p99, o.alone.p99),
			o.alone.cores(), o.beside.cores(), megabytes(o.beside.memory), len(o.beside.ended), reasons(o.beside.refused))
	}
	return t.Flush()
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

func reasons(refused map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if refused[name] > 0 {
			all = append(all, fmt.Sprintf("%s %d", name, refused[name]))
		}
	}
	return strings.Join(all, ", ")
}

// missed returns a description of each missed target. Latencies during legitimate load have
// no target.
func (r *report) missed(ceiling int64) (all []string) {
	for _, o := range r.outcomes {
		all = append(all, o.slower()...)
		if o.beside.memory > ceiling {
			all = append(all, fmt.Sprintf("%s: the connector takes %s, expected at most %s", o.name, megabytes(o.beside.memory), megabytes(ceiling)))
		}
		if n := len(o.beside.ended); n > 0 {
			all = append(all, fmt.Sprintf("%s: %d healthy readers were cut off, the first by: %v", o.name, n, o.beside.ended[0]))
		}
		if len(o.refusals) > 0 && o.refusedBy(o.beside.refused) == 0 {
			all = append(all, fmt.Sprintf("%s: was not refused by %s", o.name, o.refusals[0].Name))
		}
	}
	return all
}

// slower returns a description of each latency that missed its target.
func (o *outcome) slower() (all []string) {
	if len(o.refusals) == 0 {
		return nil
	}
	for _, l := range []struct {
		name          string
		beside, alone time.Duration
	}{{"p50", o.beside.p50, o.alone.p50}, {"p99", o.beside.p99, o.alone.p99}} {
		if got := ratio(l.beside, l.alone); got > target {
			all = append(all, fmt.Sprintf("%s: %s is %.2f times as long, expected at most %.1f", o.name, l.name, got, target))
		}
	}
	return all
}
