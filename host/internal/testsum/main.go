// Command testsum runs every test suite of the project. It prints the failures, the
// slowest packages and files, and a final line that counts the tests: "N passed, N
// failed". With -conformance, it instead runs the suites that compare the project with
// Kubernetes, and prints a line for each suite before the final line.
//
// With -flakes, it runs packages and test files many times to find flaky tests; see
// flakes.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchglass/watchglass/host/internal/interrupt"
)

func main() {
	against := flag.Bool("conformance", false, "run the suites that need Kubernetes, and no others")
	flaky := flag.Bool("flakes", false, "run the packages and test files given as arguments (default all) many times, and report the tests that failed")
	count := flag.Int("count", 20, "with -flakes: how often to run each package and file")
	load := flag.Int("load", 2, "with -flakes: how many busy processes to run beside the tests")
	jobs := flag.Int("jobs", 1, "with -flakes: how many packages and files to run at a time")
	busy := flag.Bool("busy", false, "keep one processor busy until standard input ends")
	flag.Parse()
	ctx := context.Background()
	if !*busy {
		ctx = interrupt.Context()
	}
	switch {
	case *busy:
		keepBusy(os.Stdin)
	case *flaky:
		os.Exit(findFlakes(ctx, *count, *load, *jobs, flag.Args()))
	case *against:
		os.Exit(runSuites(ctx, true, conformance()))
	default:
		lanes, err := suites()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		start := time.Now()
		fmt.Println("== compiling the Go packages and their tests")
		compile(ctx, os.Stderr, lanes...)
		fmt.Printf("   compiled in %s\n", time.Since(start).Round(time.Second))
		os.Exit(runSuites(ctx, false, lanes...))
	}
}

// runSuites runs the lanes in parallel, and the suites of each lane one after the other.
// If eachSuite is set, it prints a line for each suite. It returns the exit code.
func runSuites(ctx context.Context, eachSuite bool, lanes ...[]suite) int {
	var total tally
	var lines []string
	var durations slowest
	out := &lockedWriter{w: os.Stdout}
	var mu sync.Mutex
	var running sync.WaitGroup
	var ended atomic.Int32
	idle := make(chan struct{}) // closed when at most two lanes are left
	if len(lanes) <= 2 {
		close(idle)
	}
	for _, lane := range lanes {
		running.Go(func() {
			defer func() {
				if int(ended.Add(1)) == len(lanes)-2 {
					close(idle)
				}
			}()
			for _, s := range lane {
				t, units := run(ctx, out, s, idle)
				mu.Lock()
				lines = append(lines, s.name+": "+t.String())
				total.add(t)
				durations = append(durations, units...)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	durations.print(os.Stdout, 10)
	if eachSuite {
		fmt.Println(strings.Join(lines, "\n"))
	}
	if ctx.Err() != nil {
		fmt.Println("interrupted: the figures are incomplete")
	}
	fmt.Println(total)
	if total.failed > 0 || ctx.Err() != nil {
		return 1
	}
	return 0
}

// run runs one suite, and returns the counts of its tests and the durations of its units.
// The channel idle is closed when at most one other lane is left. If a unit fails without a failed
// test, for example because a package does not compile, run counts one failure.
func run(ctx context.Context, out io.Writer, s suite, idle <-chan struct{}) (t tally, durations slowest) {
	start := time.Now()
	var mu sync.Mutex
	_ = inParallel(max(1, s.jobs), s.further, idle, s.units, func(u unit) error { // cannot fail, because the function always returns nil
		if ctx.Err() != nil {
			return nil
		}
		if len(s.units) == 1 {
			fmt.Fprintf(out, "== %s: %s\n", s.name, shorten(u.name))
		}
		of := runUnit(ctx, out, u, func(r result) {
			mu.Lock()
			defer mu.Unlock()
			durations.add(r.unit+s.suffix, r.seconds)
		})
		mu.Lock()
		defer mu.Unlock()
		t.add(of)
		return nil
	})
	fmt.Fprintf(out, "   %s: %s in %s\n", s.name, t, time.Since(start).Round(time.Second))
	return t, durations
}

// inParallel calls the function each for all units, for up to jobs units at a time, and for
// up to more further units once the channel idle is closed. A failed call ends only one of the
// jobs, so the other jobs continue with the remaining units.
func inParallel(jobs, more int, idle <-chan struct{}, units []unit, each func(unit) error) error {
	next := make(chan unit, len(units))
	for _, u := range units {
		next <- u
	}
	close(next)
	errs := make([]error, jobs+more)
	work := func(i int) {
		for u := range next {
			if errs[i] = each(u); errs[i] != nil {
				return
			}
		}
	}
	var first, further sync.WaitGroup
	for i := range jobs {
		first.Go(func() { work(i) })
	}
	ended := make(chan struct{})
	for i := range more {
		further.Go(func() {
			select {
			case <-idle:
				work(jobs + i)
			case <-ended:
			}
		})
	}
	first.Wait()
	close(ended)
	further.Wait()
	return errors.Join(errs...)
}

func runUnit(ctx context.Context, out io.Writer, u unit, ended func(result)) (t tally) {
	err := u.run(ctx, out, func(r result) {
		t.count(r)
		r.print(out)
		if r.test == "" && !r.cached {
			ended(r)
		}
	})
	if err == nil && t == (tally{}) {
		err = fmt.Errorf("no test was run")
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && (t.failed == 0 || !exited) {
		fmt.Fprintf(out, "%s: %v\n", shorten(u.name), err)
		t.failed = max(1, t.failed)
	}
	return t
}

// shorten truncates a long command line, which lists packages or files.
func shorten(line string) string {
	const most = 100
	if len(line) <= most {
		return line
	}
	return line[:most] + "..."
}

// lockedWriter is a writer that several goroutines can use at the same time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// pipe runs a command, parses its standard output with read, and copies its standard
// error to messages.
func pipe(ctx context.Context, cmd *exec.Cmd, messages io.Writer, read reader, each func(result)) error {
	cmd.Stderr = messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := read(out, messages, each)
	if err := cmd.Wait(); err != nil {
		return err
	}
	return readErr
}
