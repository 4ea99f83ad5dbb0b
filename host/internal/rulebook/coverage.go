package rulebook

import (
	"fmt"
	"slices"
)

// Coverage contains the proofs of each rule of the rulebook.
type Coverage struct {
	Rules []*Rule
	// ByName and ByMutant map the ID of a rule to its proofs. SEMANTICS.md defines
	// the two kinds of proof. ByName contains the tests that are named after the
	// rule. ByMutant contains each test or scenario that cites the rule and claims a
	// mutant, with that mutant.
	ByName, ByMutant map[string][]string
	// Dangling contains the citations of rules that do not exist.
	Dangling []Citation
}

// LoadCoverage computes the Coverage of the rulebook, the mutants, the scenarios and the
// tests under root.
func LoadCoverage(root string) (*Coverage, error) {
	rules, err := LoadRules(root)
	if err != nil {
		return nil, err
	}
	claims, err := LoadClaims(root)
	if err != nil {
		return nil, err
	}
	tests, err := LoadGoTests(root)
	if err != nil {
		return nil, err
	}
	return cover(rules, claims, tests), nil
}

func cover(rules []*Rule, claims *Claims, tests *GoTests) *Coverage {
	c := &Coverage{Rules: rules, ByName: map[string][]string{}, ByMutant: map[string][]string{}}
	for id, named := range tests.Named {
		for _, t := range named {
			c.ByName[id] = append(c.ByName[id], t.String())
		}
	}
	citations := tests.Citations
	cited := map[string][]string{} // rules that each scenario cites
	for _, s := range claims.all {
		cited[s.Name] = s.Rules
		for _, id := range s.Rules {
			citations = append(citations, Citation{id, ScenarioDir + "/" + s.Name + ".txt"})
		}
	}
	for _, m := range claims.Mutants {
		for _, id := range m.Rules {
			citations = append(citations, Citation{id, m.path})
			for _, t := range m.Tests {
				if slices.Contains(tests.Cited[t.function()], id) {
					c.ByMutant[id] = append(c.ByMutant[id], t.String()+" notices "+m.Name)
				}
			}
			for _, s := range claims.Scenarios[m.Name] {
				if slices.Contains(cited[s], id) {
					c.ByMutant[id] = append(c.ByMutant[id], s+".txt notices "+m.Name)
				}
			}
		}
	}
	c.Dangling = dangling(rules, citations)
	return c
}

func dangling(rules []*Rule, citations []Citation) (list []Citation) {
	known := map[string]bool{}
	for _, r := range rules {
		known[r.ID] = true
	}
	for _, citation := range citations {
		if !known[citation.Rule] {
			list = append(list, citation)
		}
	}
	return list
}

// Unproven returns the rules with status "kept" or "kept differently" that no
// test proves.
func (c *Coverage) Unproven() (rules []*Rule) {
	for _, r := range c.Rules {
		if r.Applies() && len(c.ByName[r.ID]) == 0 && len(c.ByMutant[r.ID]) == 0 {
			rules = append(rules, r)
		}
	}
	return rules
}

// String returns a one-line summary.
func (c *Coverage) String() string {
	counts := map[Status]int{}
	byMutant := 0
	for _, r := range c.Rules {
		counts[r.Status]++
		if r.Applies() && len(c.ByMutant[r.ID]) > 0 {
			byMutant++
		}
	}
	return fmt.Sprintf("rules: %d kept, %d kept differently, %d not applicable, %d not kept; %d proven by a mutant, %d by a test named after them, %d without a test that fails when they break",
		counts[Kept], counts[KeptDifferently], counts[NotApplicable], counts[NotKept],
		byMutant, counts[Kept]+counts[KeptDifferently]-byMutant-len(c.Unproven()), len(c.Unproven()))
}
