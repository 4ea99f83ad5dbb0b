package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// reader is a function that parses the output of a test command. It calls the function each
// for every result, and copies all other lines to messages.
type reader func(out io.Reader, messages io.Writer, each func(result)) error

type outcome int

const (
	passed outcome = iota
	failed
	skipped
)

// result is the result of a test or, if test is empty, of the whole unit: a Go package or a
// file of Node tests.
type result struct {
	unit, test string
	outcome    outcome
	seconds    float64
	output     string // output of a test that did not pass
	cached     bool
}

// print writes a line for a passed unit. For a failure or a skipped test, it writes a line
// followed by the output. For a passed test, it writes nothing.
func (r result) print(w io.Writer) {
	name := strings.TrimSpace(r.unit + " " + r.test)
	switch {
	case r.outcome == failed:
		fmt.Fprintf(w, "FAIL %s\n%s", name, r.output)
	case r.outcome == skipped && r.test != "":
		fmt.Fprintf(w, "SKIP %s\n%s", name, r.output)
	case r.outcome == passed && r.test == "":
		fmt.Fprintf(w, "ok   %-60s %s\n", r.unit, r.took())
	}
}

func (r result) took() string {
	if r.cached {
		return "(cached)"
	}
	return fmt.Sprintf("%.1fs", r.seconds)
}

// tally counts tests by outcome.
type tally struct{ passed, failed, skipped int }

func (t *tally) count(r result) {
	if r.test == "" {
		return
	}
	switch r.outcome {
	case passed:
		t.passed++
	case failed:
		t.failed++
	case skipped:
		t.skipped++
	}
}

func (t *tally) add(other tally) {
	t.passed += other.passed
	t.failed += other.failed
	t.skipped += other.skipped
}

func (t tally) String() string {
	s := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", t.skipped)
	}
	return s
}

// duration is the duration of one unit.
type duration struct {
	unit    string
	seconds float64
}

// slowest collects the durations of units, and prints the longest ones.
type slowest []duration

func (s *slowest) add(unit string, seconds float64) { *s = append(*s, duration{unit, seconds}) }

// print writes the n longest durations.
func (s slowest) print(w io.Writer, n int) {
	if len(s) == 0 {
		return
	}
	slices.SortStableFunc(s, func(a, b duration) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintln(w, "== the slowest packages and files")
	for _, d := range s[:min(n, len(s))] {
		fmt.Fprintf(w, "%7.1fs  %s\n", d.seconds, d.unit)
	}
}
