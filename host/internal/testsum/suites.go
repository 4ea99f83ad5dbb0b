package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// suite is a list of units that are reported together. A suite of Go tests has only one
// unit: one command that tests all its packages.
type suite struct {
	name    string
	units   []unit
	jobs    int      // number of units that run at a time; zero means one
	further int      // number of further units that run at a time once at most one other lane is left
	build   []string // arguments of a go command that compiles the packages
	suffix  string   // appended to the names of packages in the list of the slowest, to distinguish suites with the same packages
}

// reporter is the path of the reporter for Node's test runner. readNode parses its
// output.
const reporter = "./host/internal/testsum/reporter.mjs"

// conformance returns the suites of host/conformance. The suites must run one after the
// other, because their packages start servers and use the whole machine.
//
// The pattern tokenForOthers selects upstream test cases that are skipped. Each case
// lists one name, and expects a continue token because objects with other names follow.
// Such a token would reveal the existence of other objects to a user who may read only one
// name (rule C43).
func conformance() []suite {
	const tokenForOthers = "^TestLists$/^ListFromCacheSnapshot/^List$/test_List_with_filter_returning_(two_items,_more_pages_possible|only_one_item,_ensure_only_a_single_page_returned)"

	test := func(name, module string, args ...string) suite {
		return suite{name: name, units: goTest(slices.Concat([]string{"-C", module, "test", "-json", "-timeout", "30m"}, args)...)}
	}
	const module = "host/conformance"
	return []suite{
		test("selectors against apimachinery", module, "./selectors"),
		test("watch cache against that of kube-apiserver", module, "./cacher"),
		test("object cache against that of the kubelet", module+"/objcache", "."),
		test("storage suites", module, "-skip", tokenForOthers, "./storage"),
		test("client-go and kubectl", module, "./kubeapi"),
		test("kube-apiserver", module, "-skip", "^TestRBAC$", "./apiserver"),
		test("RBAC", module, "-run", "^TestRBAC$", "./apiserver"),
		test("the Helm chart", module+"/chart", "."),
		test("alerts and dashboard", module+"/monitoring", "."),
		test("manifests in kube-apiserver", module, "./deploy"),
	}
}

// raced are the packages whose tests run only with the race detector, because they start
// goroutines. Packages that use etcd are omitted, because building them with the race
// detector takes minutes.
var raced = []string{"./host/connector", "./host/kubeapi", "./host/push", "./host/server", "./host/client"}

// computing are packages that are not instrumented for the race detector. The detector therefore
// misses races with accesses in these packages. Instrumentation would make their loops ten times
// as slow, and the tests of the raced packages twice as slow.
var computing = []string{
	"github.com/watchglass/watchglass/core/body", "github.com/watchglass/watchglass/core/objectjson",
	"github.com/klauspost/compress/flate", "github.com/tetratelabs/wazero/...",
}

// raceFlags returns the build flags that enable the race detector.
func raceFlags() []string {
	flags := []string{"-race"}
	for _, pattern := range computing {
		flags = append(flags, "-gcflags="+pattern+"=-race=false")
	}
	return flags
}

// slow are the packages whose tests take longest. They start first, so that no slow package
// runs alone at the end.
var slow = []string{
	"./host/cmd/watchglass", "./host/e2e", "./core/sim", "./host/internal/edge", "./host/internal/load", "./wasm/strip",
}

// waiting are packages whose tests mostly wait for servers and timers. They run in another lane than
// slow, beside tests that keep the processors busy.
var waiting = []string{"./host/internal/chaos", "./host/source/etcd", "./host/source/kube"}

// suites returns the suites in four lanes, which run in parallel. The lanes of Go tests and of
// Node files run one package or file per processor at a time. Once at most one other lane is left,
// which is soon if the results of Go are cached, twice as many Node files run at a time, because
// many of them wait. The raced packages run one at a time. Running twice as many saves no time:
// each then takes two to three times as long, and can exceed its time limit. Files of the npm
// package come last, because most of these files are short. Tests run without vet, because
// "make lint" vets the packages.
func suites() ([][]suite, error) {
	npm, examples, err := nodeFiles()
	if err != nil {
		return nil, err
	}
	plain, err := packagesExcept(slices.Concat(raced, slow, waiting))
	if err != nil {
		return nil, err
	}
	processors := runtime.NumCPU()
	race := goTests("Go, race detector", ".", 1, raceFlags(), raced...)
	race.suffix = " (race)"
	return [][]suite{
		{goTests("Go", ".", processors, nil, slices.Concat(slow, plain)...)},
		{race},
		{
			// The other packages of host/conformance take minutes to build.
			goTests("selectors against Kubernetes", "host/conformance", 1, nil, "./selectors"),
			goTests("the release program", "host/internal/release", 1, nil, "."),
			goTests("Go, tests that wait", ".", 1, nil, waiting...),
		},
		{{name: "the npm package and the examples, in Node, Chromium and workerd", units: nodeUnits(slices.Concat(examples, npm)), jobs: processors, further: processors}},
	}, nil
}

// compile compiles the packages of all suites and their tests, one suite after the other.
// With an empty build cache, compilers would otherwise compete with tests that wait for browsers
// and servers. compile prints errors and does not return them, because a package that does not
// compile also fails as a test.
func compile(ctx context.Context, messages io.Writer, lanes ...[]suite) {
	for _, s := range slices.Concat(lanes...) {
		if len(s.build) == 0 || ctx.Err() != nil {
			continue
		}
		cmd := command(ctx, "go", s.build...)
		cmd.Stderr = messages
		if err := cmd.Run(); err != nil {
			fmt.Fprintf(messages, "compiling %s: %v\n", s.name, err)
		}
	}
}

// goTests returns a suite that tests packages of the module at dir, up to jobs packages at
// a time. The compiler uses all processors.
func goTests(name, dir string, jobs int, flags []string, packages ...string) suite {
	test := []string{"-C", dir, "test", "-json", "-vet=off", "-timeout", timeout.String(), fmt.Sprintf("-p=%d", jobs)}
	return suite{
		name:  name,
		units: goTest(slices.Concat(test, flags, packages)...),
		build: slices.Concat([]string{"-C", dir, "list", "-e", "-test", "-deps", "-export", "-f="}, flags, packages),
	}
}

// goTest returns one unit, which runs the go command with arguments for "go test -json".
func goTest(args ...string) []unit {
	return []unit{{
		name: strings.Join(append([]string{"go"}, args...), " "),
		run: func(ctx context.Context, messages io.Writer, each func(result)) error {
			return pipe(ctx, command(ctx, "go", args...), messages, readGo, each)
		},
	}}
}

func nodeUnits(files []string) []unit {
	var units []unit
	for _, file := range files {
		units = append(units, nodeUnit(file, reporter, timeout))
	}
	return units
}

// packagesExcept returns the import paths of all packages of the module except the given
// ones.
func packagesExcept(except []string) ([]string, error) {
	all, err := goList("./...")
	if err != nil {
		return nil, err
	}
	without, err := goList(except...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(path string) bool { return slices.Contains(without, path) }), nil
}

func goList(patterns ...string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list: %s", exit.Stderr)
	}
	return strings.Fields(string(out)), err
}

// nodeFiles returns the test files of the npm package and of the examples.
func nodeFiles() (npm, examples []string, err error) {
	if npm, err = filepath.Glob("js/build/test/*.test.js"); err != nil {
		return nil, nil, err
	}
	for _, pattern := range []string{"examples/*/*.test.mjs", "examples/dashboard/test/*.test.mjs"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, nil, err
		}
		examples = append(examples, found...)
	}
	return npm, examples, nil
}
