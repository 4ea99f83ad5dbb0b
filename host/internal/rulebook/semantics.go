package rulebook

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// SemanticsPath is the path of the rulebook, relative to the root of the repository.
const SemanticsPath = "core/SEMANTICS.md"

// Status describes how watchglass conforms to a rule.
type Status string

// These are the possible statuses of a rule.
const (
	Kept            Status = "kept"
	KeptDifferently Status = "kept differently"
	NotApplicable   Status = "not applicable"
	NotKept         Status = "not kept"
)

// Rule is one rule of the rulebook. Line is the line number at which the rule begins.
type Rule struct {
	ID     string
	Status Status
	Text   string
	Line   int
}

// Applies reports whether watchglass keeps the rule, exactly or differently, so that a test
// must prove the rule.
func (r *Rule) Applies() bool { return r.Status == Kept || r.Status == KeptDifferently }

var (
	ruleItem   = regexp.MustCompile(`^- \*\*(` + idPattern + `)\*\* (kept differently|kept|not applicable|not kept)\. (.*)$`)
	looksALike = regexp.MustCompile(`^\W*` + idPattern + `\b`)
)

// LoadRules reads the rulebook under root.
func LoadRules(root string) ([]*Rule, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(SemanticsPath)))
	if err != nil {
		return nil, err
	}
	return ParseRules(string(text))
}

// ParseRules parses the text of the rulebook. Errors begin with SemanticsPath and the line
// number.
func ParseRules(text string) ([]*Rule, error) {
	var rules []*Rule
	var last *Rule // the rule to which an indented line belongs
	lines := map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		m := ruleItem.FindStringSubmatch(line)
		switch {
		case m != nil:
			last = &Rule{ID: m[1], Status: Status(m[2]), Text: m[3], Line: i + 1}
			if first, ok := lines[last.ID]; ok {
				return nil, fmt.Errorf("%s:%d: %s is also defined in line %d", SemanticsPath, i+1, last.ID, first)
			}
			lines[last.ID] = i + 1
			rules = append(rules, last)
		case last != nil && strings.HasPrefix(line, "  "):
			last.Text += " " + strings.TrimSpace(line)
		case looksALike.MatchString(line):
			return nil, fmt.Errorf("%s:%d: expected \"- **ID** STATUS. Text\" with a status of kept, kept differently, not applicable or not kept, found %q",
				SemanticsPath, i+1, line)
		default:
			last = nil
		}
	}
	for _, r := range rules {
		if r.Status != Kept && !strings.Contains(r.Text, "*Here:*") {
			return nil, fmt.Errorf("%s:%d: %s is %s and must describe the difference after \"*Here:*\"", SemanticsPath, r.Line, r.ID, r.Status)
		}
	}
	return rules, nil
}
