package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// outputDir is the directory for the output of failed tests.
const outputDir = "build/flakes"

// unit is a set of tests that run together, such as a Go package or a file of Node tests.
type unit struct {
	name string
	// run runs the tests once. It calls the function each for every result. If it returns
	// an error although no test failed, the unit itself counts as failed.
	run func(ctx context.Context, messages io.Writer, each func(result)) error
}

// findFlakes runs each unit count times, up to jobs units at a time, while other
// processes keep the machine busy. It returns the exit code: 0 if no test failed, 1 if a
// test failed at least once, and 2 if the units cannot be run.
func findFlakes(ctx context.Context, count, load, jobs int, patterns []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "flakes:", err)
		return 2
	}
	if count < 1 || load < 0 || jobs < 1 {
		return fail(fmt.Errorf("-count %d -load %d -jobs %d: expected a count of at least 1, a load of at least 0 and at least 1 job", count, load, jobs))
	}
	scratch, err := os.MkdirTemp("", "flakes")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(scratch)
	units, err := findUnits(ctx, scratch, patterns)
	if err != nil {
		return fail(err)
	}
	if err := os.RemoveAll(outputDir); err != nil {
		return fail(err)
	}
	stop, err := startLoad(ctx, load)
	if err != nil {
		return fail(err)
	}
	defer stop()
	f := flakes{dir: outputDir, out: os.Stdout, tests: map[testID]int{}}
	if err := f.repeatAll(ctx, units, count, jobs); err != nil {
		return fail(err)
	}
	return f.summary(ctx.Err() != nil)
}

// testID identifies a test of a unit or, if test is empty, the unit itself.
type testID struct{ unit, test string }

// flakes collects the results of many runs.
type flakes struct {
	dir string // directory for the output of failed tests

	mu    sync.Mutex
	out   io.Writer
	runs  int
	tests map[testID]int // number of failures of each test that ran, possibly zero
	lines []string       // lines of the summary
}

// repeatAll runs each unit count times, up to jobs units at a time. The runs of one unit
// never overlap.
func (f *flakes) repeatAll(ctx context.Context, units []unit, count, jobs int) error {
	return inParallel(jobs, 0, nil, units, func(u unit) error {
		if ctx.Err() != nil {
			return nil
		}
		return f.repeat(ctx, u, count)
	})
}

// repeat runs a unit count times, or until ctx is done. It does not count a run that ctx
// interrupts.
func (f *flakes) repeat(ctx context.Context, u unit, count int) error {
	start := time.Now()
	runs, bad := 0, 0
	var flaky []testID
	for ; runs < count; runs++ {
		failures := f.once(ctx, u)
		if ctx.Err() != nil {
			break
		}
		for _, r := range failures {
			id := testID{u.name, r.test}
			if f.count(id, 1) == 1 {
				flaky = append(flaky, id)
			}
			if err := f.write(id, runs+1, r.output); err != nil {
				return err
			}
		}
		bad += min(1, len(failures))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs += runs
	for _, id := range flaky {
		f.lines = append(f.lines, fmt.Sprintf("FLAKY %s: failed in %d of %d runs; output: %s", id, f.tests[id], runs, f.path(id)))
	}
	fmt.Fprintf(f.out, "%-60s %d runs in %s, %d failed\n", u.name, runs, time.Since(start).Round(time.Second), bad)
	return nil
}

// once runs a unit once and returns the failures. If ctx is done during the run, it returns no
// failures.
func (f *flakes) once(ctx context.Context, u unit) []result {
	var results []result
	var messages strings.Builder
	err := u.run(ctx, &messages, func(r result) { results = append(results, r) })
	if ctx.Err() != nil {
		return nil
	}
	for _, r := range results {
		f.count(testID{u.name, r.test}, 0)
	}
	return failuresOf(u.name, results, err, messages.String())
}

// count records that a test ran, with 0 or 1 failures. It returns the total number of
// failures of the test.
func (f *flakes) count(id testID, failures int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tests[id] += failures
	return f.tests[id]
}

// failuresOf returns the failures that caused a failed run. A test whose subtest failed is
// omitted. If the run failed without a failed test, the result is the unit itself.
func failuresOf(unit string, results []result, err error, messages string) []result {
	var failures []result
	for _, r := range results {
		if r.outcome == failed && r.test != "" {
			failures = append(failures, r)
		}
	}
	causes := slices.DeleteFunc(slices.Clone(failures), func(r result) bool {
		return slices.ContainsFunc(failures, func(sub result) bool {
			return strings.HasPrefix(sub.test, r.test+"/") || strings.HasPrefix(sub.test, r.test+" > ")
		})
	})
	if len(causes) > 0 || err == nil {
		return causes
	}
	whole := result{unit: unit, output: messages + err.Error() + "\n"}
	for _, r := range results {
		if r.test == "" && r.outcome == failed {
			whole.output = r.output + whole.output
		}
	}
	return []result{whole}
}

func (id testID) String() string { return strings.TrimSpace(id.unit + " " + id.test) }

var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// path returns the path of the file to which the output of a test is written. Long names
// are truncated, because a file name can have at most 255 bytes.
func (f *flakes) path(id testID) string {
	name := strings.Trim(unfit.ReplaceAllString(id.String(), "_"), "_.")
	return filepath.Join(f.dir, name[:min(len(name), 200)]+".txt")
}

// write appends the output of a failed run to the file of a test.
func (f *flakes) write(id testID, run int, output string) error {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path(id), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "== %s, run %d\n%s\n", id, run, output)
	return cmp.Or(err, file.Close())
}

// summary prints a line for each flaky test and a line with totals. It returns the exit
// code of findFlakes.
func (f *flakes) summary(interrupted bool) int {
	flaky := 0
	for _, times := range f.tests {
		if times > 0 {
			flaky++
		}
	}
	for _, line := range f.lines {
		fmt.Fprintln(f.out, line)
	}
	if interrupted {
		fmt.Fprintln(f.out, "flakes: interrupted, the figures cover the completed runs")
	}
	fmt.Fprintf(f.out, "flakes: %d runs, %d tests, %d flaky\n", f.runs, f.ran(), flaky)
	if flaky > 0 || interrupted {
		return 1
	}
	return 0
}

// ran returns the number of distinct tests that ran, not counting the units themselves.
func (f *flakes) ran() int {
	n := 0
	for id := range f.tests {
		if id.test != "" {
			n++
		}
	}
	return n
}
