// Command testsum runs every test suite of the project, shows what fails, and
// ends with one line that counts them all: "N passed, N failed". With
// -conformance it runs those that hold the project against Kubernetes itself, and
// ends with a line for each of them before.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is a command whose output can be counted.
type suite struct {
	name    string
	command []string
	count   func(io.Reader, *tally) error
}

type tally struct{ passed, failed, skipped int }

func (t tally) String() string {
	s := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", t.skipped)
	}
	return s
}

// conformance are the suites of host/conformance. They take turns, for the
// packages there start servers and want the machine for themselves.
func conformance() []suite {
	test := func(name, module string, args ...string) suite {
		return suite{name, slices.Concat([]string{"go", "-C", module, "test", "-json", "-timeout", "30m"}, args), countGo}
	}
	const module = "host/conformance"
	return []suite{
		test("selectors against apimachinery", module, "./selectors"),
		test("watch cache against that of kube-apiserver", module, "./cacher"),
		test("object cache against that of the kubelet", module+"/objcache", "."),
		test("storage suites", module, "./storage"),
		test("client-go and kubectl", module, "./kubeapi"),
		test("kube-apiserver", module, "-skip", "^TestRBAC$", "./apiserver"),
		test("RBAC", module, "-run", "^TestRBAC$", "./apiserver"),
	}
}

func suites() ([]suite, error) {
	node, err := filepath.Glob("js/build/test/*.test.js")
	if err != nil {
		return nil, err
	}
	examples, err := filepath.Glob("examples/*/*.test.mjs")
	if err != nil {
		return nil, err
	}
	dashboard, err := filepath.Glob("examples/dashboard/test/*.test.mjs")
	if err != nil {
		return nil, err
	}
	nodeTest := []string{"node", "--test", "--test-reporter=tap", "--test-concurrency=1"}
	return []suite{
		{"Go", []string{"go", "test", "-json", "./..."}, countGo},
		// The packages with goroutines of their own, but without etcd, whose
		// race build alone takes minutes.
		{"Go, race detector", []string{"go", "test", "-json", "-race", "./host/connector", "./host/kubeapi", "./host/push", "./host/server", "./host/guest"}, countGo},
		// The rest of that module takes minutes to build.
		{"selectors against Kubernetes", []string{"go", "-C", "host/conformance", "test", "-json", "./selectors"}, countGo},
		{"the npm package in Node, Chromium and workerd", slices.Concat(nodeTest, node), countTAP},
		{"the examples", slices.Concat(nodeTest, examples, dashboard), countTAP},
	}, nil
}

func main() {
	against := flag.Bool("conformance", false, "run the suites that need Kubernetes, and those alone")
	flag.Parse()
	list, err := suites()
	if *against {
		list, err = conformance(), nil
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var total tally
	var lines []string
	for _, s := range list {
		t := run(s)
		lines = append(lines, s.name+": "+t.String())
		total.passed += t.passed
		total.failed += t.failed
		total.skipped += t.skipped
	}
	if *against {
		fmt.Println(strings.Join(lines, "\n"))
	}
	fmt.Println(total)
	if total.failed > 0 {
		os.Exit(1)
	}
}

// run runs one suite. A command that fails without a failed test, such as one
// that does not compile, counts as one failure.
func run(s suite) tally {
	fmt.Printf("== %s: %s\n", s.name, strings.Join(s.command, " "))
	start := time.Now()
	var t tally
	err := pipe(s, &t)
	if err == nil && t.passed+t.failed == 0 {
		err = fmt.Errorf("no test was run")
	}
	if err != nil && t.failed == 0 {
		fmt.Printf("%s: %v\n", s.name, err)
		t.failed++
	}
	fmt.Printf("   %s in %s\n", t, time.Since(start).Round(time.Second))
	return t
}

func pipe(s suite, t *tally) error {
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Stderr = os.Stdout
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	countErr := s.count(out, t)
	if err := cmd.Wait(); err != nil {
		return err
	}
	return countErr
}

// countGo counts the events of go test -json, and prints the output of what
// failed.
func countGo(r io.Reader, t *tally) error {
	type event struct{ Action, Package, Test, Output string }
	output := map[string]*strings.Builder{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Print(line) // not an event: the go command speaks
			continue
		}
		key := e.Package + " " + e.Test
		if output[key] == nil {
			output[key] = &strings.Builder{}
		}
		output[key].WriteString(e.Output)
		switch e.Action {
		case "build-output":
			fmt.Print(e.Output)
		case "pass":
			if e.Test != "" {
				t.passed++
			} else {
				fmt.Printf("ok   %s\n", e.Package)
			}
			delete(output, key)
		case "skip":
			if e.Test != "" {
				t.skipped++
				fmt.Printf("SKIP %s\n%s", key, output[key])
			}
			delete(output, key)
		case "fail":
			if e.Test != "" {
				t.failed++
			} else {
				t.failed += printUnfinished(e.Package, output)
			}
			fmt.Printf("FAIL %s\n%s", key, output[key])
			delete(output, key)
		}
	}
}

// printUnfinished prints, and counts, the tests of a package that were running
// when it ended: it timed out or crashed, and what was said about that is the
// output of one of them.
func printUnfinished(pkg string, output map[string]*strings.Builder) int {
	n := 0
	for _, key := range slices.Sorted(maps.Keys(output)) {
		if test, ok := strings.CutPrefix(key, pkg+" "); ok && test != "" {
			fmt.Printf("FAIL %s did not end\n%s", key, output[key])
			delete(output, key)
			n++
		}
	}
	return n
}

var tapResult = regexp.MustCompile(`^\s*(not )?ok \d+`)
var tapCount = regexp.MustCompile(`^# (pass|fail|cancelled|skipped) (\d+)`)

// countTAP takes the counts that the reporter ends with, and prints the rest of
// what is not a passed test.
func countTAP(r io.Reader, t *tally) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	failing := false
	for scan.Scan() {
		line := scan.Text()
		if m := tapResult.FindStringSubmatch(line); m != nil {
			failing = m[1] != ""
			fmt.Println(line)
			continue
		}
		if m := tapCount.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[2])
			switch m[1] {
			case "pass":
				t.passed += n
			case "skipped":
				t.skipped += n
			default:
				t.failed += n
			}
		}
		if failing {
			fmt.Println(line)
		}
	}
	return scan.Err()
}
