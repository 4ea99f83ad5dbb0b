// Command rules counts the rules of core/SEMANTICS.md by status and by kind of proof, and
// prints the counts. It fails if a rule that must be proven has no proof, or if a cited
// rule does not exist. Run it from the root of a checkout.
//
//	make rules
//	make rules RULE=W13
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/watchglass/watchglass/host/internal/rulebook"
)

func main() {
	rule := flag.String("rule", "", "print this rule and what proves it")
	flag.Parse()
	if err := rules(*rule); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rules(rule string) error {
	c, err := rulebook.LoadCoverage(".")
	if err != nil {
		return err
	}
	if rule != "" {
		return explain(c, rule)
	}
	for _, r := range c.Unproven() {
		fmt.Printf("%s:%d: no test proves %s: %s\n", rulebook.SemanticsPath, r.Line, r.ID, r.Text)
	}
	for _, d := range c.Dangling {
		fmt.Printf("%s: cites %s, which %s does not define\n", d.Where, d.Rule, rulebook.SemanticsPath)
	}
	fmt.Println(c)
	if len(c.Unproven()) > 0 || len(c.Dangling) > 0 {
		return errors.New("add a test or a mutant for each rule above, as " + rulebook.SemanticsPath + " describes")
	}
	return nil
}

func explain(c *rulebook.Coverage, id string) error {
	at := slices.IndexFunc(c.Rules, func(r *rulebook.Rule) bool { return r.ID == id })
	if at < 0 {
		return fmt.Errorf("%s has no rule %q", rulebook.SemanticsPath, id)
	}
	r := c.Rules[at]
	fmt.Printf("%s:%d: %s, %s: %s\n", rulebook.SemanticsPath, r.Line, r.ID, r.Status, r.Text)
	for _, proof := range slices.Concat(c.ByMutant[id], c.ByName[id]) {
		fmt.Println("  " + proof)
	}
	return nil
}
