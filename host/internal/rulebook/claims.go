package rulebook

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/coretest"
)

// ScenarioDir is the directory of the scenarios, relative to the root of the
// repository.
const ScenarioDir = "testdata/scenarios"

// Claims contains the mutants, and the tests and scenarios that claim to catch these
// mutants. A mutant file lists the Go tests that claim the mutant. A scenario lists the
// mutants that it claims in its header.
type Claims struct {
	Mutants []*Mutant
	// Scenarios maps the name of a mutant to the names of the scenarios that claim the
	// mutant.
	Scenarios map[string][]string

	all []*coretest.Scenario
}

// LoadClaims reads the mutants and the headers of the scenarios under root. It returns an
// error if a scenario claims a mutant that does not exist.
func LoadClaims(root string) (*Claims, error) {
	c := &Claims{Scenarios: map[string][]string{}}
	var err error
	if c.Mutants, err = LoadMutants(root); err != nil {
		return nil, err
	}
	if c.all, err = coretest.LoadAll(filepath.Join(root, filepath.FromSlash(ScenarioDir))); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, m := range c.Mutants {
		known[m.Name] = true
	}
	for _, s := range c.all {
		for _, name := range s.Mutants {
			if !known[name] {
				return nil, fmt.Errorf("%s/%s.txt claims the mutant %q, but %s/%s.mutant does not exist", ScenarioDir, s.Name, name, MutantDir, name)
			}
			c.Scenarios[name] = append(c.Scenarios[name], s.Name)
		}
	}
	return c, nil
}

// Check returns an error if there is a mutant that no test, scenario or simulation claims.
// It also returns an error if a scenario lists no rules or no mutants.
func (c *Claims) Check() error {
	for _, m := range c.Mutants {
		if len(m.Tests) == 0 && m.Seeds == 0 && len(c.Scenarios[m.Name]) == 0 {
			return fmt.Errorf("%s: no test claims it; add a \"test:\" or \"sim:\" line, or name it in the header of a scenario", m.path)
		}
	}
	for _, s := range c.all {
		if len(s.Rules) == 0 || len(s.Mutants) == 0 {
			return fmt.Errorf("%s/%s.txt: the header must have a line \"# Rules: \" with the rules that it covers and a line \"# Mutants: \" with mutants that it must catch",
				ScenarioDir, s.Name)
		}
	}
	return nil
}

// Keep removes the mutants for which keep returns false.
func (c *Claims) Keep(keep func(*Mutant) bool) {
	c.Mutants = slices.DeleteFunc(c.Mutants, func(m *Mutant) bool { return !keep(m) })
}

// ClaimAll replaces the claims. Afterwards, every scenario claims every mutant of core. Every
// test claims the mutants that change its package and violate a rule that the test cites.
func (c *Claims) ClaimAll(tests *GoTests) {
	var names []string
	for _, s := range c.all {
		names = append(names, s.Name)
	}
	for _, m := range c.Mutants {
		m.Tests, m.Seeds = nil, 0
		for t, ids := range tests.Cited {
			cites := slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(m.Rules, id) })
			if cites && m.changes(t.Package) {
				m.Tests = append(m.Tests, t)
			}
		}
		if strings.HasPrefix(m.hunks[0].file, "core/") {
			c.Scenarios[m.Name] = names
		}
	}
}

// Baseline runs all tests and scenarios that claim mutants, but on the unchanged code. It returns
// an error if a test or scenario fails, because a test that always fails cannot detect a mutant.
func (r *Runner) Baseline(ctx context.Context, c *Claims) error {
	var tests []Test
	var scenarios []string
	for _, m := range c.Mutants {
		tests = append(tests, m.Tests...)
		scenarios = append(scenarios, c.Scenarios[m.Name]...)
	}
	groups := byPackage(unique(tests), unique(scenarios))
	for _, pkg := range slices.Sorted(maps.Keys(groups)) {
		failed, err := r.failing(ctx, variant{name: "none", root: r.Root}, pkg, groups[pkg])
		if err != nil {
			return err
		}
		if len(failed) > 0 {
			return fmt.Errorf("these fail without any mutant, in %s: %s", pkg, strings.Join(failed, ", "))
		}
	}
	return nil
}

func unique[T comparable](list []T) []T {
	seen := map[T]bool{}
	var kept []T
	for _, v := range list {
		if !seen[v] {
			seen[v] = true
			kept = append(kept, v)
		}
	}
	return kept
}
