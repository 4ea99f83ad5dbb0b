package sim

import (
	"fmt"
	"io"
	"slices"
)

// Report contains the size of a campaign, the situations that occurred, and the
// failures.
type Report struct {
	Seeds, Operations int
	Seen              Coverage
	Failures          []*Result
}

// MaxFailures limits the number of failures that a campaign describes.
const MaxFailures = 5

// Campaign runs the given number of seeds, starting with first, on the given number of
// goroutines. It writes progress and failures to out.
func Campaign(first uint64, seeds, workers int, out io.Writer) *Report {
	report := &Report{}
	results := make(chan *Result)
	next := make(chan uint64)
	go func() {
		for i := range seeds {
			next <- first + uint64(i)
		}
		close(next)
	}()
	for range workers {
		go func() {
			for seed := range next {
				results <- Run(seed, Program(seed), Setup{})
			}
		}()
	}
	for range seeds {
		r := <-results
		report.Seeds++
		report.Operations += r.Done
		report.Seen.Add(&r.Seen)
		if r.Err != nil {
			report.Failures = append(report.Failures, r)
			if len(report.Failures) <= MaxFailures {
				fmt.Fprintf(out, "sim: seed %d: %v\n", r.Seed, r.Err)
			}
		}
		if step := max(seeds/10, 1000); report.Seeds%step == 0 {
			fmt.Fprintf(out, "sim: %d of %d seeds, %d violations\n", report.Seeds, seeds, len(report.Failures))
		}
	}
	slices.SortFunc(report.Failures, func(a, b *Result) int { return int(int64(a.Seed - b.Seed)) })
	return report
}

// Explain shrinks a failure and describes how to reproduce it.
func Explain(r *Result) string {
	r = Shrink(r, Setup{})
	s := fmt.Sprintf("seed %d: %v\n", r.Seed, r.Err)
	for _, op := range r.Ops {
		s += "  " + op.String() + "\n"
	}
	return s + fmt.Sprintf("reproduce: make sim SEEDS=1 SEED=%d\n", r.Seed)
}
