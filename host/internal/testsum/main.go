// Command testsum runs every test suite of the project, prints what fails and the
// slowest packages and files, and ends with one line that counts the tests: "N passed,
// N failed". With -conformance it runs the suites that compare the project with
// Kubernetes itself, and prints a line for each suite before the last one.
//
// With -flakes it runs packages and test files many times, to find tests that fail
// sometimes: see flakes.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/watchglass/watchglass/host/internal/interrupt"
)

func main() {
	against := flag.Bool("conformance", false, "run the suites that need Kubernetes, and no others")
	flaky := flag.Bool("flakes", false, "run the packages and test files given as arguments (default all) many times, and report the tests that failed")
	count := flag.Int("count", 20, "with -flakes: how often to run each package and file")
	load := flag.Int("load", 2, "with -flakes: how many busy processes to run beside the tests")
	busy := flag.Bool("busy", false, "keep one processor busy until standard input ends")
	flag.Parse()
	switch {
	case *busy:
		keepBusy(os.Stdin)
	case *flaky:
		os.Exit(findFlakes(interrupt.Context(), *count, *load, flag.Args()))
	case *against:
		os.Exit(runSuites(true, conformance()))
	default:
		lanes, err := suites()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(runSuites(false, lanes...))
	}
}

// runSuites runs the suites of each lane one after the other, and the lanes beside each
// other. It returns the exit code.
func runSuites(eachSuite bool, lanes ...[]suite) int {
	var total tally
	var lines []string
	var durations slowest
	out := &lockedWriter{w: os.Stdout}
	var mu sync.Mutex
	var running sync.WaitGroup
	for _, lane := range lanes {
		running.Go(func() {
			for _, s := range lane {
				t, units := run(out, s)
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
	fmt.Println(total)
	if total.failed > 0 {
		return 1
	}
	return 0
}

// run runs one suite. A command that fails without a failed test, such as one
// that does not compile, counts as one failure.
func run(out io.Writer, s suite) (t tally, durations slowest) {
	fmt.Fprintf(out, "== %s: %s\n", s.name, shorten(strings.Join(s.command, " ")))
	start := time.Now()
	err := pipe(context.Background(), exec.Command(s.command[0], s.command[1:]...), out, s.read, func(r result) {
		t.count(r)
		r.print(out)
		if r.test == "" && !r.cached {
			durations.add(r.unit+s.suffix, r.seconds)
		}
	})
	if err == nil && t.passed+t.failed == 0 {
		err = fmt.Errorf("no test was run")
	}
	if err != nil && t.failed == 0 {
		fmt.Fprintf(out, "%s: %v\n", s.name, err)
		t.failed++
	}
	fmt.Fprintf(out, "   %s: %s in %s\n", s.name, t, time.Since(start).Round(time.Second))
	return t, durations
}

// shorten cuts a command line that lists packages or files to the length of a line.
func shorten(line string) string {
	const most = 100
	if len(line) <= most {
		return line
	}
	return line[:most] + "..."
}

// lockedWriter writes for several lanes.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// pipe runs a command, reads results from its standard output, and copies its standard
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
