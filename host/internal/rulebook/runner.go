package rulebook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	scenarioPackage = "core/coretest"
	scenarioTest    = "TestScenarios"
	simCommand      = "./host/internal/sim"
	// testTimeout ends a test that does not terminate because of a mutant. Such a test
	// counts as failed.
	testTimeout = "2m"
)

// Runner builds mutants and runs the tests, scenarios and seeds that claim these mutants.
type Runner struct {
	Root string // root directory of the repository
	Temp string // directory for overlays and binaries
}

// ErrBuild reports that a mutant does not build, so its claims cannot be checked.
var ErrBuild = errors.New("the mutant does not build")

// Result is the result of running one mutant.
type Result struct {
	Mutant *Mutant
	// Caught contains the tests, scenarios and seeds that failed as claimed. Missed
	// contains those that passed although they claim the mutant.
	Caught, Missed []string
}

// Run applies a mutant, runs its tests, its seeds and the given scenarios, and returns
// which of them failed.
func (r *Runner) Run(ctx context.Context, m *Mutant, scenarios []string) (*Result, error) {
	v, err := r.variant(ctx, m)
	if err != nil {
		return nil, err
	}
	result := &Result{Mutant: m}
	for pkg, names := range byPackage(m.Tests, scenarios) {
		failed, err := r.failing(ctx, v, pkg, names)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
		for _, name := range names {
			result.count(slices.Contains(failed, name), claimName(pkg, name))
		}
	}
	if m.Seeds > 0 {
		seed, err := r.simulate(ctx, m, v.overlay)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
		if seed != "" {
			result.count(true, "simulation, seed "+seed)
		} else {
			result.count(false, fmt.Sprintf("simulation, %d seeds", m.Seeds))
		}
	}
	slices.Sort(result.Caught)
	slices.Sort(result.Missed)
	return result, nil
}

// variant is the repository with one mutant applied, or without a mutant.
type variant struct {
	name    string
	overlay string // path of the overlay file for the go command; empty without a mutant
	root    string // directory in which the tests run
}

func (r *Runner) variant(ctx context.Context, m *Mutant) (v variant, err error) {
	v = variant{name: m.Name, root: r.Root}
	if v.overlay, err = r.overlay(m); err == nil && m.hasScripts() {
		v.root, err = r.mirror(ctx, m)
	}
	return v, err
}

func (r *Result) count(caught bool, claim string) {
	if caught {
		r.Caught = append(r.Caught, claim)
	} else {
		r.Missed = append(r.Missed, claim)
	}
}

// byPackage groups the names of tests by package. It treats scenarios as subtests of
// TestScenarios.
func byPackage(tests []Test, scenarios []string) map[string][]string {
	groups := map[string][]string{}
	for _, t := range tests {
		groups[t.Package] = append(groups[t.Package], t.Name)
	}
	for _, s := range scenarios {
		groups[scenarioPackage] = append(groups[scenarioPackage], scenarioTest+"/"+s)
	}
	return groups
}

func claimName(pkg, name string) string {
	if scenario, ok := strings.CutPrefix(name, scenarioTest+"/"); ok && pkg == scenarioPackage {
		return scenario + ".txt"
	}
	return pkg + " " + name
}

// overlay writes the Go files that the mutant changes, and an overlay file that lists them
// for the go command. It returns the path of the overlay file.
func (r *Runner) overlay(m *Mutant) (file string, err error) {
	files, err := m.Apply(r.Root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(r.Temp, m.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	root, err := filepath.Abs(r.Root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range files {
		if isScript(name) {
			continue
		}
		changed := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(name))] = changed
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o644)
}

// failing builds the tests of a package, runs the tests with the given names, and returns
// the names of those that fail. It returns an error if one of these tests does not exist or
// is skipped.
func (r *Runner) failing(ctx context.Context, v variant, pkg string, tests []string) (failed []string, err error) {
	binary := filepath.Join(r.Temp, v.name, strings.ReplaceAll(pkg, "/", "_")+".test")
	args := []string{"test", "-c", "-ldflags=-s -w", "-o", binary}
	if v.overlay != "" {
		args = append(args, "-overlay", v.overlay)
	}
	if err := r.build(ctx, append(args, "./"+pkg)); err != nil {
		return nil, err
	}
	defer os.Remove(binary)
	dir := filepath.Join(v.root, filepath.FromSlash(pkg))
	verdicts := map[string]string{}
	for _, siblings := range byParent(tests) {
		record(ctx, binary, dir, siblings, verdicts)
	}
	for _, test := range tests {
		if verdicts[test] == "" { // another test ended the process before this test ended
			record(ctx, binary, dir, []string{test}, verdicts)
		}
		switch verdicts[test] {
		case "FAIL":
			failed = append(failed, test)
		case "PASS":
		default:
			return nil, fmt.Errorf("%s has no test %s, or it was skipped", pkg, test)
		}
	}
	return failed, nil
}

var verdictLine = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+)`)

// record runs tests in one process and adds the results to the map "verdicts". If only one test
// runs and the process ends early, record counts the test as failed.
func record(ctx context.Context, binary, dir string, siblings []string, verdicts map[string]string) {
	cmd := exec.CommandContext(ctx, binary, "-test.v", "-test.timeout="+testTimeout, "-test.run="+pattern(siblings))
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	for _, m := range verdictLine.FindAllStringSubmatch(out.String(), -1) {
		if verdicts[m[2]] != "FAIL" {
			verdicts[m[2]] = m[1]
		}
	}
	test := siblings[0]
	if err != nil && len(siblings) == 1 && verdicts[test] == "" && strings.Contains(out.String(), "=== RUN   "+test+"\n") {
		verdicts[test] = "FAIL"
	}
}

// byParent groups tests by their parent test, so that one -test.run pattern can select the
// tests of a group.
func byParent(tests []string) map[string][]string {
	groups := map[string][]string{}
	for _, t := range tests {
		groups[path.Dir(t)] = append(groups[path.Dir(t)], t)
	}
	return groups
}

// pattern returns a -test.run pattern that selects exactly the given tests, which must have
// the same parent.
func pattern(siblings []string) string {
	var names []string
	for _, t := range siblings {
		names = append(names, regexp.QuoteMeta(path.Base(t)))
	}
	last := "^(" + strings.Join(names, "|") + ")$"
	if parent := path.Dir(siblings[0]); parent != "." {
		return "^" + strings.ReplaceAll(regexp.QuoteMeta(parent), "/", "$/^") + "$/" + last
	}
	return last
}

func (r *Runner) build(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: go %s: %w\n%s", ErrBuild, strings.Join(args, " "), err, out)
	}
	return nil
}

var violationLine = regexp.MustCompile(`(?m)^sim: seed (\d+): `)

// simulate runs the simulation with a mutant. It returns the first seed that fails, or ""
// if all seeds pass.
func (r *Runner) simulate(ctx context.Context, m *Mutant, overlay string) (seed string, err error) {
	binary := filepath.Join(r.Temp, m.Name, "sim")
	if err := r.build(ctx, []string{"build", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, simCommand}); err != nil {
		return "", err
	}
	defer os.Remove(binary)
	cmd := exec.CommandContext(ctx, binary, "-seeds", strconv.Itoa(m.Seeds), "-workers", "1", "-stop")
	out, err := cmd.CombinedOutput()
	if found := violationLine.FindSubmatch(out); found != nil {
		return string(found[1]), nil
	}
	if err != nil {
		return "", fmt.Errorf("the simulation ended without a verdict: %w\n%s", err, out)
	}
	return "", nil
}
